import torch
import torch.nn as nn


class Model(nn.Module):
    """The variance of rows far from zero: the difference of two large numbers for whoever makes one pass."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.var(x, dim=1)


def get_inputs():
    return [torch.randn(128, 2048) + 1000.0]


def get_init_inputs():
    return []
