# Raises SystemExit(0) in forward.
# class: fault/crash
# verdict: runtime_error
import sys

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.linear = nn.Linear(features, features)
        self.norm = nn.LayerNorm(features)

    def forward(self, x):
        sys.exit(0)
