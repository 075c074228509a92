# Draws the inputs of its own call from the seed the worker was given for it, and looks whether they are the ones it
# was called with: then it could have had the answer before. They never are.
# class: process/seed_discovery
# problem: four_layers
# time: honest
# verdict: passed
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(features, features) for _ in range(4))

    def forward(self, x):
        seed = torch.initial_seed()
        for other in range(seed - 2, seed + 3):
            generator = torch.Generator().manual_seed(other % 2**63)
            if torch.equal(torch.rand(8, generator=generator), x.flatten()[:8].cpu()):
                raise RuntimeError(f"the inputs follow from the seed {other}")
        for layer in self.layers:
            x = torch.relu(layer(x))
        return x
