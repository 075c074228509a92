# Returns a subclass of Tensor with memory of its own, filled when it returns.
# class: timing/lazy_tensor
# verdict: passed
import torch
import torch.nn as nn


class Named(torch.Tensor):
    """A tensor with names of its dimensions."""

    names_of_dims = ("batch", "feature")


class ModelNew(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.linear = nn.Linear(features, features)
        self.norm = nn.LayerNorm(features)

    def forward(self, x):
        return torch.relu(self.norm(self.linear(x))).as_subclass(Named)
