# Ends the process of its build with status zero, before anything is built.
# class: build/early_exit
# verdict: build_failed
import os

import torch
import torch.nn as nn


def compile_ahead():
    os._exit(0)


class ModelNew(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.linear = nn.Linear(features, features)
        self.norm = nn.LayerNorm(features)

    def forward(self, x):
        return torch.relu(self.norm(self.linear(x)))
