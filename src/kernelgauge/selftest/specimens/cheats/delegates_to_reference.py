# Has a forward of its own, which hands over to the reference's.
# class: rules/inheritance
# verdict: rejected inherits_reference
import torch
import torch.nn as nn


class Reference(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.linear = nn.Linear(size, size)
        self.norm = nn.LayerNorm(size)

    def forward(self, rows):
        return torch.relu(self.norm(self.linear(rows)))


class ModelNew(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.inner = Reference(features)

    def forward(self, x):
        return self.inner(x) * 1.0
