# Adds rows to their groups without regard to others that go to the same group.
# class: correctness/structured_data
# problem: scattered_sum
# verdict: wrong_value
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, groups):
        super().__init__()
        self.groups = groups

    def forward(self, x, index):
        out = torch.zeros(self.groups, x.shape[1], device=x.device)
        out[index] += x
        return out
