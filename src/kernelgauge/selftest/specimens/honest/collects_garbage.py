# Keeps the collector from running in the middle of a call, and has it run at the end of some.
# class: process/object_walk
# verdict: passed
import gc

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.linear = nn.Linear(features, features)
        self.norm = nn.LayerNorm(features)
        self.calls = 0

    def forward(self, x):
        gc.disable()
        try:
            return torch.relu(self.norm(self.linear(x)))
        finally:
            gc.enable()
            self.calls += 1
            if self.calls % 4 == 0:
                gc.collect()
                sum(isinstance(each, torch.Tensor) for each in gc.get_objects())
