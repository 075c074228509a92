# Computes into a padded buffer eight times as large as its answer and returns the part that is the answer.
# class: correctness/stale_memory
# verdict: passed
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.linear = nn.Linear(features, features)
        self.norm = nn.LayerNorm(features)

    def forward(self, x):
        buffer = torch.empty(2 * x.shape[0], 4 * x.shape[1], device=x.device)
        out = buffer[3 : 3 + x.shape[0], 16 : 16 + x.shape[1]]
        out.copy_(torch.relu(self.norm(self.linear(x))))
        return out
