import torch
import torch.nn as nn


class Model(nn.Module):
    """One pass over 256 MB in and 256 MB out: for GPUs, whose caches hold much of less than that."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(x - 0.5) * x


def get_inputs():
    return [torch.rand(8192, 8192)]


def get_init_inputs():
    return []
