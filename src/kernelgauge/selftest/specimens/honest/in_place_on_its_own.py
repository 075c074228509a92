# Works in place, on what it has made itself.
# class: correctness/input_mutation
# problem: four_layers
# verdict: passed
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(features, features) for _ in range(4))

    def forward(self, x):
        for layer in self.layers:
            x = torch.relu_(torch.mm(x, layer.weight.t()).add_(layer.bias))
        return x
