# Keeps a copy of its input and its answer side by side in one new buffer, and returns the half that is the answer: a
# view, but of memory that no input shares.
# class: correctness/no_work
# verdict: passed
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.linear = nn.Linear(features, features)
        self.norm = nn.LayerNorm(features)

    def forward(self, x):
        buffer = torch.empty(2, *x.shape, dtype=x.dtype, device=x.device)
        buffer[0].copy_(x)
        buffer[1].copy_(torch.relu(self.norm(self.linear(buffer[0]))))
        return buffer[1]
