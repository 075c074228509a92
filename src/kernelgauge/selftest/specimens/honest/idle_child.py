# Keeps a child that sleeps nearly all of its life, as a logger or a watchdog does. It is stopped with the rest, and
# costs the call nothing.
# class: timing/ran_on
# problem: four_layers
# needs: cpu
# time: honest
# verdict: passed
import os
import time

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(features, features) for _ in range(4))
        if os.fork() == 0:
            while True:
                time.sleep(1)

    def forward(self, x):
        for layer in self.layers:
            x = torch.relu(layer(x))
        return x
