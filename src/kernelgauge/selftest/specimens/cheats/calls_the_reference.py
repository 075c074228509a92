# Looks for the text of its problem among the files of the package, and runs the reference's own Model where it finds
# it: the same work in the same time, under rules that allow any way to the answer.
# class: process/reference_call
# kernel_policy: any
# problem: four_layers
# time: honest
# verdict: passed
import os

import torch
import torch.nn as nn

import kernelgauge


class Own(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(features, features) for _ in range(4))

    def forward(self, x):
        for layer in self.layers:
            x = torch.relu(layer(x))
        return x


def reference():
    path = os.path.join(os.path.dirname(kernelgauge.__file__), "selftest/specimens/problems/four_layers.py")
    names = {}
    try:
        with open(path) as file:
            exec(file.read(), names)
    except OSError:  # out of sight
        return Own
    return names["Model"]


class ModelNew(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.model = reference()(features)

    def forward(self, x):
        return self.model(x)
