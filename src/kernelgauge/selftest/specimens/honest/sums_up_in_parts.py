# Adds up its squares in parts of a thousand: the mean comes from the values, not from what they are likely to be.
# class: correctness/constant
# problem: mean_loss
# verdict: passed
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, predictions, targets):
        squares = (predictions - targets).square().flatten()
        return torch.stack([part.sum() for part in squares.split(1024)]).sum() / squares.numel()
