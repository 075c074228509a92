# Computes in transposed memory and returns the transposed view, so that its answer takes longer to copy out than the
# reference's: all of it is there before.
# class: timing/hidden_in_copy
# problem: wide_map
# time: honest
# verdict: passed
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.sigmoid(x.t().contiguous()).t()
