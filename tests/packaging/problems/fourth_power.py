"""One call of ATen that eager PyTorch computes by logarithms."""

import torch

count = 2097152


class Model(torch.nn.Module):
    def forward(self, x):
        return torch.pow(x, 4.0)


def get_inputs():
    return [torch.rand(count)]


def get_init_inputs():
    return []
