# Puts a function that counts in the place of torch.relu and of Linear's forward; both still do their work.
# class: process/patched_reference
# verdict: passed
import functools

import torch
import torch.nn as nn

CALLS = {}


def counted(function):
    @functools.wraps(function)
    def call(*args, **kwargs):
        CALLS[function.__name__] = CALLS.get(function.__name__, 0) + 1
        return function(*args, **kwargs)

    return call


torch.relu = counted(torch.relu)
nn.Linear.forward = counted(nn.Linear.forward)


class ModelNew(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.linear = nn.Linear(features, features)
        self.norm = nn.LayerNorm(features)

    def forward(self, x):
        return torch.relu(self.norm(self.linear(x)))
