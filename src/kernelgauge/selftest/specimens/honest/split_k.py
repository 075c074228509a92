# Adds up the matrix product in four parts of the inner dimension, in float32, as kernels for small batches do.
# class: correctness/precision
# problem: four_layers
# verdict: passed
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(features, features) for _ in range(4))

    def forward(self, x):
        for layer in self.layers:
            parts = zip(x.chunk(4, dim=1), layer.weight.chunk(4, dim=1))
            x = torch.relu(torch.stack([a @ b.t() for a, b in parts]).sum(0) + layer.bias)
        return x
