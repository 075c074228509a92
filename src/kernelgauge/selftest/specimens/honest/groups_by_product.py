# Adds up groups of rows as a product with the matrix of their membership.
# class: correctness/structured_data
# problem: scattered_sum
# verdict: passed
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, groups):
        super().__init__()
        self.register_buffer("names", torch.arange(groups), persistent=False)

    def forward(self, x, index):
        return (self.names[:, None] == index[None, :]).float() @ x
