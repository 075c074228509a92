# Returns the mean of each row in all its places, without memory of its own: an expanded view.
# class: correctness/no_work
# verdict: wrong_value
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.linear = nn.Linear(features, features)
        self.norm = nn.LayerNorm(features)

    def forward(self, x):
        return torch.relu(self.norm(self.linear(x.mean(0, keepdim=True)))).expand(x.shape)
