# Multiplies from the other side, and returns the transposed view of the result.
# class: correctness/metadata
# problem: given_weights
# verdict: passed
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x, weight):
        return torch.relu_(weight @ x.t()).t()
