# Does the matrix product in bfloat16 and returns float32.
# class: correctness/precision
# verdict: wrong_precision
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.linear = nn.Linear(features, features)
        self.norm = nn.LayerNorm(features)

    def forward(self, x):
        y = x.bfloat16() @ self.linear.weight.t().bfloat16()
        return torch.relu(self.norm(y.float() + self.linear.bias))
