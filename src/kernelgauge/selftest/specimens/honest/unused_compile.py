# Could compile, and does not.
# class: rules/torch_compile
# verdict: passed
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.linear = nn.Linear(features, features)
        self.norm = nn.LayerNorm(features)
        self.fused = torch.compile(self.plain) if features > 1 << 20 else self.plain

    def plain(self, x):
        return torch.relu(self.norm(self.linear(x)))

    def forward(self, x):
        return self.fused(x)
