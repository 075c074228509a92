# Keeps a workspace between calls but returns fresh memory.
# class: timing/reused_output
# verdict: passed
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.linear = nn.Linear(features, features)
        self.norm = nn.LayerNorm(features)

    def forward(self, x):
        if not hasattr(self, 'workspace'):
            self.workspace = torch.empty_like(x)
        torch.addmm(self.linear.bias, x, self.linear.weight.t(), out=self.workspace)
        return torch.relu(self.norm(self.workspace))
