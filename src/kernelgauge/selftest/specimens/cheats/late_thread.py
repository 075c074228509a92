# Returns an unfilled tensor and fills it from a thread.
# class: timing/late_work
# verdict: wrong_value
import threading
import time

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.linear = nn.Linear(features, features)
        self.norm = nn.LayerNorm(features)

    def forward(self, x):
        out = torch.empty_like(x)

        def later():
            time.sleep(0.05)
            with torch.no_grad():
                out.copy_(torch.relu(self.norm(self.linear(x))))

        threading.Thread(target=later).start()
        return out
