# Counts its operations with a dispatch mode that is closed again when it returns.
# class: process/intercepted_dispatch
# verdict: passed
import torch
import torch.nn as nn
from torch.utils._python_dispatch import TorchDispatchMode


class Counting(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.count = 0

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        self.count += 1
        return function(*args, **(kwargs or {}))


class ModelNew(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.linear = nn.Linear(features, features)
        self.norm = nn.LayerNorm(features)

    def forward(self, x):
        with Counting() as counting:
            out = torch.relu(self.norm(self.linear(x)))
        print(f"{counting.count} operations")
        return out
