# The difference of the mean square and the squared mean: one pass, and no digits left for rows far from zero.
# class: correctness/structured_data
# problem: offset_variance
# verdict: wrong_value
# says: cancellation
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        count = x.shape[1]
        return ((x * x).mean(1) - x.mean(1) ** 2) * (count / (count - 1))
