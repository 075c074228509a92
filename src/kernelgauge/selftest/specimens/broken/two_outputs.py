# Returns a tuple of two where one tensor is due.
# class: fault/answer
# verdict: wrong_shape
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.linear = nn.Linear(features, features)
        self.norm = nn.LayerNorm(features)

    def forward(self, x):
        y = torch.relu(self.norm(self.linear(x)))
        return y, y
