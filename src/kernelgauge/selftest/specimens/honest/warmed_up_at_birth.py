# Runs itself on ones in its constructor, so that lazily made things are there when the first call comes.
# class: timing/before_the_clock
# problem: four_layers
# time: honest
# verdict: passed
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(features, features) for _ in range(4))
        for _ in range(3):
            self(torch.ones(64, features))

    def forward(self, x):
        for layer in self.layers:
            x = torch.relu(layer(x))
        return x
