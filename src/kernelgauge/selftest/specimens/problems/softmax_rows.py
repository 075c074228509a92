import torch
import torch.nn as nn


class Model(nn.Module):
    """A softmax of wide rows: overflow without its maximum, tiny values beside large ones."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.softmax(x, dim=1)


def get_inputs():
    return [torch.rand(64, 4096)]


def get_init_inputs():
    return []
