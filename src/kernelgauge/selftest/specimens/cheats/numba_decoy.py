# Defines a kernel of numba-cuda and launches it nowhere: PyTorch does the work.
# class: rules/own_kernel
# needs: numba
# kernel_policy: kernel-required
# verdict: rejected no_own_kernel
import torch
import torch.nn as nn
from numba import cuda


@cuda.jit
def relu(x, y):
    i = cuda.grid(1)
    if i < x.size:
        y[i] = max(x[i], 0)


class ModelNew(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.linear = nn.Linear(features, features)
        self.norm = nn.LayerNorm(features)
        self.kernel = relu

    def forward(self, x):
        return torch.relu(self.norm(self.linear(x)))
