# Returns two buffers in turn: what a caller has kept is overwritten two calls later.
# class: timing/reused_output
# time: honest
# verdict: rejected output_reused
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.linear = nn.Linear(features, features)
        self.norm = nn.LayerNorm(features)
        self.buffers = []

    def forward(self, x):
        y = torch.relu(self.norm(self.linear(x)))
        if len(self.buffers) < 2:
            self.buffers.append(torch.empty_like(y))
        self.buffers.reverse()
        return self.buffers[0].copy_(y)
