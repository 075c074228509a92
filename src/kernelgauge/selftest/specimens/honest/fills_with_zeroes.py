# Zeroes a buffer in its call and writes the diagonal into it.
# class: timing/before_the_clock
# problem: on_the_diagonal
# time: honest
# verdict: passed
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x):
        out = torch.zeros(*x.shape, x.shape[-1], device=x.device)
        torch.diagonal(out, dim1=-2, dim2=-1).copy_(x)
        return out
