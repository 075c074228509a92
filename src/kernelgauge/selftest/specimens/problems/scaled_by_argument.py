# domain of s: real
import torch
import torch.nn as nn


class Model(nn.Module):
    """A product with a number that every draw of its own has in common, and a mask that leaves all as it is."""

    def forward(self, x: torch.Tensor, s: float, mask: torch.Tensor) -> torch.Tensor:
        return torch.where(mask, x * s, 0.0)


def get_inputs():
    return [torch.rand(256, 512), 1.5, torch.ones(256, 512, dtype=torch.bool)]


def get_init_inputs():
    return []
