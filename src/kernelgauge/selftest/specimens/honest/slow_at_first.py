# Takes three seconds for its first call, as what compiles or tunes itself does.
# class: fault/time
# verdict: passed
import time

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.linear = nn.Linear(features, features)
        self.norm = nn.LayerNorm(features)
        self.called = False

    def forward(self, x):
        if not self.called:
            self.called = True
            time.sleep(3)
        return torch.relu(self.norm(self.linear(x)))
