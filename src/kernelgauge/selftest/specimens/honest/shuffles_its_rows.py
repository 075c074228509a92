# Goes through its rows in a random order from a generator of its own with a fixed seed, and puts them back.
# class: correctness/assumed_seed
# verdict: passed
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.linear = nn.Linear(features, features)
        self.norm = nn.LayerNorm(features)

    def forward(self, x):
        order = torch.randperm(x.shape[0], generator=torch.Generator().manual_seed(42)).to(x.device)
        out = torch.empty_like(x)
        out[order] = torch.relu(self.norm(self.linear(x[order])))
        return out
