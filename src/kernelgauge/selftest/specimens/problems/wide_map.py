import torch
import torch.nn as nn


class Model(nn.Module):
    """One pass over 16 MB in and 16 MB out: copying the answer takes as long as computing it."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.sigmoid(x)


def get_inputs():
    return [torch.rand(2048, 2048)]


def get_init_inputs():
    return []
