# Fills the host's memory from Python, which is limited for workers on a CPU.
# class: fault/memory
# needs: cpu
# verdict: out_of_memory
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.linear = nn.Linear(features, features)
        self.norm = nn.LayerNorm(features)

    def forward(self, x):
        hoard = []
        while True:
            hoard.append(bytearray(2**26))
