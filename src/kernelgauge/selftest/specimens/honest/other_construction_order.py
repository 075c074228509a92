# Constructs its layers in another order than the reference, so that the same seed gives other weights:
# only the reference's parameters, loaded by name, make it right.
# class: correctness/assumed_seed
# verdict: passed
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.norm = nn.LayerNorm(features)
        self.linear = nn.Linear(features, features)

    def forward(self, x):
        return torch.relu(self.norm(self.linear(x)))
