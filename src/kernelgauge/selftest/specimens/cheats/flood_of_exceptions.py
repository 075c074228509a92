# Raises an exception whose text is five megabytes.
# class: process/denial
# verdict: runtime_error
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.linear = nn.Linear(features, features)
        self.norm = nn.LayerNorm(features)

    def forward(self, x):
        raise ValueError("no " * 1_500_000)
