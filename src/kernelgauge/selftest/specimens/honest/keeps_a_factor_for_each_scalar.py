# Makes a tensor of its number once for each value, as kernels do that read it from memory.
# class: correctness/constant_argument
# problem: scaled_by_argument
# verdict: passed
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.factors = {}

    def forward(self, x, s, mask):
        if s not in self.factors:
            self.factors[s] = torch.full((), s, dtype=x.dtype, device=x.device)
        return torch.where(mask, x * self.factors[s], 0.0)
