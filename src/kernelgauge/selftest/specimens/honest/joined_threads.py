# Splits the batch over two threads and waits for both.
# class: timing/late_work
# verdict: passed
import threading

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.linear = nn.Linear(features, features)
        self.norm = nn.LayerNorm(features)

    def forward(self, x):
        out = torch.empty_like(x)

        def work(rows):
            with torch.no_grad():
                out[rows] = torch.relu(self.norm(self.linear(x[rows])))

        half = x.shape[0] // 2
        threads = [threading.Thread(target=work, args=(rows,)) for rows in (slice(half), slice(half, None))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return out
