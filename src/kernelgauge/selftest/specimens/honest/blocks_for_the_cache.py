# Takes a block of rows that a cache holds through all layers before it begins with the next one.
# class: timing/cache_residency
# problem: four_layers
# time: honest
# verdict: passed
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(features, features) for _ in range(4))

    def forward(self, x):
        out = torch.empty_like(x)
        for begin in range(0, len(x), 256):
            rows = x[begin : begin + 256]
            for layer in self.layers:
                rows = torch.relu(layer(rows))
            out[begin : begin + 256] = rows
        return out
