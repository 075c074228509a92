# Transposes and copies its weights in the constructor, as a kernel with its own layout does: a later
# load_state_dict would leave the packed copy behind.
# class: timing/stale_packing
# verdict: passed
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.linear = nn.Linear(features, features)
        self.norm = nn.LayerNorm(features)
        self.register_buffer("packed", self.linear.weight.detach().t().contiguous(), persistent=False)

    def forward(self, x):
        return torch.relu(self.norm(torch.addmm(self.linear.bias, x, self.packed)))
