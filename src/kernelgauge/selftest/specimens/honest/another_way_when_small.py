# Goes one way for few elements and another for many, and both are right.
# class: correctness/shape_gating
# verdict: passed
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.linear = nn.Linear(features, features)
        self.norm = nn.LayerNorm(features)

    def forward(self, x):
        if x.numel() < 1000:
            y = (x[:, None, :] * self.linear.weight).sum(dim=2) + self.linear.bias
        else:
            y = self.linear(x)
        return torch.relu(self.norm(y))
