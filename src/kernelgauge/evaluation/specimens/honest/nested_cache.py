# Keeps a cache in nested folders, as compilers do: some dozens deep.
# class: process/denial
# verdict: passed
import tempfile
from pathlib import Path

import torch
import torch.nn as nn

place = Path(tempfile.mkdtemp()).joinpath(*(f"part{number}" for number in range(40)))
place.mkdir(parents=True)
(place / "kernel.txt").write_text("something worth keeping")


class ModelNew(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.linear = nn.Linear(features, features)
        self.norm = nn.LayerNorm(features)

    def forward(self, x):
        assert (place / "kernel.txt").exists()
        return torch.relu(self.norm(self.linear(x)))
