# Three times faster in two calls of three, and so slow in the third that whoever makes many calls waits longer than
# for the reference. A median would call it faster.
# class: timing/slow_calls
# problem: four_times
# time: honest
# forged: 1
# verdict: passed
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.calls = 0

    def forward(self, x):
        self.calls += 1
        for _ in range(40 if self.calls % 3 == 0 else 0):
            torch.sigmoid(x)
        return 4 * torch.sigmoid(x)
