# Keeps a packed copy of its weights, which are an input, and compares all of them before it uses it.
# class: timing/stale_packing
# problem: given_weights
# verdict: passed
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.seen = None

    def forward(self, x, weight):
        if self.seen is None or not torch.equal(self.seen, weight):
            self.seen, self.packed = weight.clone(), weight.t().contiguous()
        return torch.relu(x @ self.packed)
