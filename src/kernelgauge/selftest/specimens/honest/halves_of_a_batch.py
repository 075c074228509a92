# Answers one half of its rows after the other, and puts the halves together.
# class: timing/batched_calls
# verdict: passed
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.linear = nn.Linear(features, features)
        self.norm = nn.LayerNorm(features)

    def forward(self, x):
        waiting = list(x.chunk(2))
        answers = [torch.relu(self.norm(self.linear(rows))) for rows in waiting]
        return torch.cat(answers)
