# One element is NaN.
# class: fault/answer
# verdict: wrong_value
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.linear = nn.Linear(features, features)
        self.norm = nn.LayerNorm(features)

    def forward(self, x):
        y = torch.relu(self.norm(self.linear(x)))
        y[3, 5] = float('nan')
        return y
