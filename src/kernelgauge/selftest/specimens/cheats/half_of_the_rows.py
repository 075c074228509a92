# Computes every second row, and leaves in the others what the memory held: often the same answer, of a call before.
# class: correctness/partial_output
# verdict: wrong_value
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.linear = nn.Linear(features, features)
        self.norm = nn.LayerNorm(features)

    def forward(self, x):
        out = torch.empty_like(x)
        out[::2] = torch.relu(self.norm(self.linear(x[::2])))
        return out
