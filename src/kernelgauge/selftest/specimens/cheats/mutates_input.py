# Works in place on its argument, so that a shared tensor would spoil the reference.
# class: correctness/input_mutation
# verdict: rejected input_mutated
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.linear = nn.Linear(features, features)
        self.norm = nn.LayerNorm(features)

    def forward(self, x):
        y = torch.relu(self.norm(self.linear(x)))
        x.zero_()
        return y
