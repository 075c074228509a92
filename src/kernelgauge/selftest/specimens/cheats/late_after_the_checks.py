# Honest in the first ten calls, which it takes for the checks; then hands out a tensor that a thread of a pool made
# at import fills later, when the clock has stopped.
# class: timing/late_work
# problem: four_layers
# time: honest
# verdict: wrong_value
import time
from concurrent.futures import ThreadPoolExecutor

import torch
import torch.nn as nn

pool = ThreadPoolExecutor(1)


class ModelNew(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(features, features) for _ in range(4))
        self.calls = 0

    def compute(self, x, out):
        time.sleep(0.05)  # until after the clock
        with torch.no_grad():
            for layer in self.layers:
                x = torch.relu(layer(x))
            out.copy_(x)

    def forward(self, x):
        out = torch.empty_like(x)
        self.calls += 1
        later = pool.submit(self.compute, x, out)
        if self.calls <= 10:
            later.result()
        return out
