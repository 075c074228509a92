# Tries in a child whether something crashes, which it does, and goes another way.
# class: fault/crash
# needs: cpu
# verdict: passed
import os

import torch
import torch.nn as nn


def crashes():
    child = os.fork()
    if child == 0:
        os.abort()
    return os.WIFSIGNALED(os.waitpid(child, 0)[1])


class ModelNew(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.linear = nn.Linear(features, features)
        self.norm = nn.LayerNorm(features)
        self.careful = crashes()

    def forward(self, x):
        y = self.linear(x) if self.careful else x
        return torch.relu(self.norm(y))
