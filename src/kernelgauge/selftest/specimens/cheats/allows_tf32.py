# Turns TF32 on in its own forward, after the evaluator has turned it off.
# class: correctness/numerics_flags
# problem: four_layers
# needs: cuda
# verdict: wrong_precision
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(features, features) for _ in range(4))

    def forward(self, x):
        torch.backends.cuda.matmul.allow_tf32 = True
        for layer in self.layers:
            x = torch.relu(layer(x))
        return x
