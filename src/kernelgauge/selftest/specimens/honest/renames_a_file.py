# Writes a file in its own scratch folder and moves it to another one, as compilers with a cache do.
# class: process/persistence
# verdict: passed
import os
import tempfile

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.linear = nn.Linear(features, features)
        self.norm = nn.LayerNorm(features)
        with tempfile.TemporaryDirectory() as first, tempfile.TemporaryDirectory() as second:
            path = os.path.join(first, "kernel")
            with open(path, "w") as file:
                file.write("built")
            os.replace(path, os.path.join(second, "kernel"))

    def forward(self, x):
        return torch.relu(self.norm(self.linear(x)))
