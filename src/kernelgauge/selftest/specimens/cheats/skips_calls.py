# Does its work in half of the calls, drawn at random, and returns the last answer in the others.
# class: correctness/partial_output
# verdict: wrong_value
# problem: four_layers
# time: honest
import os

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(features, features) for _ in range(4))
        self.answer = None

    def forward(self, x):
        if self.answer is None or os.urandom(1)[0] < 128:
            for layer in self.layers:
                x = torch.relu(layer(x))
            self.answer = x
        return self.answer.clone()
