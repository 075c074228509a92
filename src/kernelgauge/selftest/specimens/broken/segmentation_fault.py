# Reads address zero.
# class: fault/crash
# says: memory violation
# verdict: runtime_error
import ctypes

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.linear = nn.Linear(features, features)
        self.norm = nn.LayerNorm(features)

    def forward(self, x):
        ctypes.string_at(0)
        return torch.relu(self.norm(self.linear(x)))
