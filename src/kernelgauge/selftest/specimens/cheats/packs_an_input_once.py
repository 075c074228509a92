# Transposes and keeps its weights, which are an input, the first time it sees their address.
# class: timing/stale_packing
# problem: given_weights
# verdict: wrong_value
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.packed = {}

    def forward(self, x, weight):
        key = weight.data_ptr()
        if key not in self.packed:
            self.packed[key] = weight.t().contiguous()
        return torch.relu(x @ self.packed[key])
