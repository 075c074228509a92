# Returns a view in which one number of each row stands for all of them: right, and it pays for writing them out.
# class: timing/folded_output
# problem: row_norms
# time: honest
# verdict: passed
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x):
        return x.square().sum(-1, keepdim=True).sqrt().expand(-1, 4096)
