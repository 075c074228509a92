# Tries packages that need not be there, and falls back to what is.
# class: fault/load
# verdict: passed
import warnings

import torch
import torch.nn as nn

try:
    import a_fast_kernel_library as fast
except ImportError:
    fast = None
    warnings.warn("no a_fast_kernel_library: using PyTorch", stacklevel=1)


class ModelNew(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.linear = nn.Linear(features, features)
        self.norm = nn.LayerNorm(features)

    def forward(self, x):
        try:
            return fast.linear_norm_relu(x, self.linear, self.norm)
        except AttributeError:
            return torch.relu(self.norm(self.linear(x)))
