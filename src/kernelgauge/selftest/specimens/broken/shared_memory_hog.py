# Fills the host's memory through shared mappings and a second process, which no limit of one process sees.
# class: fault/memory
# needs: cpu
# verdict: out_of_memory
import mmap
import os

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.linear = nn.Linear(features, features)
        self.norm = nn.LayerNorm(features)

    def forward(self, x):
        hoard = []
        os.fork()
        while True:
            hoard.append(torch.frombuffer(mmap.mmap(-1, 2**26), dtype=torch.uint8).fill_(1))
        return torch.relu(self.norm(self.linear(x)))
