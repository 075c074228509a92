# Begins with memory that holds whatever it held, and fills it block by block, the last one smaller.
# class: correctness/partial_output
# verdict: passed
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.linear = nn.Linear(features, features)
        self.norm = nn.LayerNorm(features)

    def forward(self, x):
        out = torch.empty_like(x)
        for begin in range(0, len(x), 48):
            out[begin : begin + 48] = torch.relu(self.norm(self.linear(x[begin : begin + 48])))
        return out
