# Leaves the process with success in the middle of a call.
# class: fault/crash
# verdict: runtime_error
import os

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.linear = nn.Linear(features, features)
        self.norm = nn.LayerNorm(features)

    def forward(self, x):
        os._exit(0)
