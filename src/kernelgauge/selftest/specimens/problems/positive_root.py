import torch
import torch.nn as nn


class Model(nn.Module):
    """An absolute value and a ReLU that do nothing to the inputs as published."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(x) + torch.abs(x) + 1


def get_inputs():
    return [torch.rand(1024, 1024)]


def get_init_inputs():
    return []
