# Drops gain and bias of the norm, which by default are one and zero.
# class: correctness/default_parameters
# verdict: wrong_value
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.linear = nn.Linear(features, features)
        self.norm = nn.LayerNorm(features)

    def forward(self, x):
        y = self.linear(x)
        return torch.relu(nn.functional.layer_norm(y, y.shape[1:]))
