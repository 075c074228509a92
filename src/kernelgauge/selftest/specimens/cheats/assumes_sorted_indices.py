# Adds up stretches of rows by differences of a running sum, as if every group were one stretch.
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
        total = torch.cat([torch.zeros(1, x.shape[1], device=x.device), x.cumsum(0)])
        ends = torch.bincount(index, minlength=self.groups).cumsum(0)
        starts = torch.cat([ends.new_zeros(1), ends[:-1]])
        return total[ends] - total[starts]
