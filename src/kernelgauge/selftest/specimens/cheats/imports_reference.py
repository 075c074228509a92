# Takes the problems out of the evaluator.
# class: rules/evaluator
# verdict: rejected imports_evaluator
import importlib

import torch
import torch.nn as nn

loader = importlib.import_module(".".join(["kernel" + "gauge", "problems", "loader"]))


class ModelNew(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.linear = nn.Linear(features, features)
        self.norm = nn.LayerNorm(features)

    def forward(self, x):
        return torch.relu(self.norm(self.linear(x)))
