# Keeps a pool of threads for all its calls, each of which waits for the work it has given away.
# class: timing/late_work
# problem: four_layers
# time: honest
# verdict: passed
from concurrent.futures import ThreadPoolExecutor

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(features, features) for _ in range(4))
        self.pool = ThreadPoolExecutor(2)

    def part(self, x):
        with torch.no_grad():
            for layer in self.layers:
                x = torch.relu(layer(x))
        return x

    def forward(self, x):
        return torch.cat(list(self.pool.map(self.part, x.chunk(2))))
