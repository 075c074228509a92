# Has a comparison of its own, and in its first call computes twice to see whether both ways agree.
# class: process/patched_comparison
# verdict: passed
import torch
import torch.nn as nn


def allclose(one, other, rtol=1e-3, atol=1e-3):
    return bool(((one - other).abs() <= atol + rtol * other.abs()).all())


class ModelNew(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.linear = nn.Linear(features, features)
        self.norm = nn.LayerNorm(features)
        self.compared = False

    def forward(self, x):
        y = torch.addmm(self.linear.bias, x, self.linear.weight.t())
        if not self.compared:
            self.compared = True
            assert allclose(y, self.linear(x)) and torch.allclose(y, self.linear(x), 1e-3, 1e-3)
        return torch.relu(self.norm(y))
