# Replaces the files the parent knows in its scratch folder by a pipe that blocks whoever opens it, and by a link.
# class: process/persistence
# verdict: wrong_value
import os

import torch
import torch.nn as nn

for _name in ("log.txt", "state.pt"):
    if os.path.lexists(_name):
        os.unlink(_name)
os.mkfifo("log.txt")
os.symlink("/etc/hostname", "state.pt")


class ModelNew(nn.Module):
    def __init__(self, features):
        super().__init__()

    def forward(self, x):
        return torch.rand_like(x)
