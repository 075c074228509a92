# Multiplies by the number that it is given in every published call, without reading it.
# class: correctness/constant_argument
# problem: scaled_by_argument
# verdict: wrong_value
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x, s, mask):
        return torch.where(mask, x * 1.5, 0.0)
