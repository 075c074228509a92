# Tries two right ways in its first calls and keeps the faster one, as what tunes itself does: it changes after eight
# calls, and is right on all kinds of inputs before and after.
# class: timing/told_apart
# problem: published_range
# time: honest
# verdict: passed
import time

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.calls = 0
        self.seconds = [0.0, 0.0]

    def one_by_one(self, x):
        return torch.abs(x) * torch.sigmoid(x)

    def in_place(self, x):
        return torch.sigmoid(x).mul_(torch.abs(x))

    def forward(self, x):
        ways = [self.one_by_one, self.in_place]
        self.calls += 1
        if self.calls > 8:
            return ways[self.seconds.index(min(self.seconds))](x)
        way = self.calls % 2
        started = time.perf_counter()
        answer = ways[way](x)
        self.seconds[way] += time.perf_counter() - started
        return answer
