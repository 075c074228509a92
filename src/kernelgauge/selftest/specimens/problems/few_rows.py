import torch
import torch.nn as nn


class Model(nn.Module):
    """A normalisation of a few short rows: too few blocks for one of them to be the one that goes wrong."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return nn.functional.layer_norm(x, x.shape[1:])


def get_inputs():
    return [torch.randn(4, 1024)]


def get_init_inputs():
    return []
