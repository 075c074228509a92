# Sorts the rows by their group, keeping their order, and adds up each stretch.
# class: correctness/structured_data
# problem: scattered_sum
# verdict: passed
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, groups):
        super().__init__()
        self.groups = groups

    def forward(self, x, index):
        order = torch.argsort(index, stable=True)
        lengths = torch.bincount(index, minlength=self.groups)
        return torch.segment_reduce(x[order], "sum", lengths=lengths, initial=0.0)
