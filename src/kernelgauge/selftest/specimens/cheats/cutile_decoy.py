# Defines a kernel of cuTile and launches it nowhere: PyTorch does the work.
# class: rules/own_kernel
# needs: cuda
# kernel_policy: kernel-required
# verdict: rejected no_own_kernel
import cuda.tile as ct
import torch
import torch.nn as nn


@ct.kernel
def relu(x, y):
    block = ct.bid(0)
    ct.store(y, (block,), ct.maximum(ct.load(x, (block,), (128,)), 0.0))


class ModelNew(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.linear = nn.Linear(features, features)
        self.norm = nn.LayerNorm(features)
        self.kernel = relu

    def forward(self, x):
        return torch.relu(self.norm(self.linear(x)))
