# Defines a kernel of Helion and calls it nowhere: PyTorch does the work.
# class: rules/own_kernel
# needs: helion
# kernel_policy: kernel-required
# verdict: rejected no_own_kernel
import helion
import helion.language as hl
import torch
import torch.nn as nn


@helion.kernel(config=helion.Config(block_sizes=[128], num_warps=4))
def relu(x: torch.Tensor) -> torch.Tensor:
    y = torch.empty_like(x)
    for tile in hl.tile(x.size(0)):
        y[tile] = torch.relu(x[tile])
    return y


class ModelNew(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.linear = nn.Linear(features, features)
        self.norm = nn.LayerNorm(features)
        self.kernel = relu

    def forward(self, x):
        return torch.relu(self.norm(self.linear(x)))
