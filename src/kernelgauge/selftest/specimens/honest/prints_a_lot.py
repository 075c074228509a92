# Prints ten megabytes: the log is cut, the verdict is not.
# class: process/denial
# verdict: passed
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.linear = nn.Linear(features, features)
        self.norm = nn.LayerNorm(features)

    def forward(self, x):
        print('x' * 1_000_000)
        return torch.relu(self.norm(self.linear(x)))
