# Chooses its block size by variables of the environment and by what the machine is.
# class: process/seed_discovery
# verdict: passed
import os
import platform

import torch
import torch.nn as nn

ROWS = int(os.environ.get("LINEAR_NORM_RELU_ROWS", 16 * (os.cpu_count() or 1)))
if platform.machine() not in ("x86_64", "aarch64"):
    ROWS = 8


class ModelNew(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.linear = nn.Linear(features, features)
        self.norm = nn.LayerNorm(features)

    def forward(self, x):
        return torch.cat([torch.relu(self.norm(self.linear(rows))) for rows in x.split(ROWS)])
