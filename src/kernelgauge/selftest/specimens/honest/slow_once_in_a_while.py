# Tidies up in a call now and then, which takes as long as a typical call: on average it still is faster.
# class: timing/slow_calls
# problem: four_times
# time: honest
# forged: 20
# verdict: passed
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.calls = 0

    def forward(self, x):
        self.calls += 1
        if self.calls % 10 == 0:
            torch.sigmoid(x)
        return 4 * torch.sigmoid(x)
