import torch
import torch.nn as nn


class Model(nn.Module):
    """A normalisation over many values."""

    def __init__(self, shape: tuple[int, ...]):
        super().__init__()
        self.norm = nn.LayerNorm(shape)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.norm(x)


def get_inputs():
    return [torch.rand(4, 64, 64, 64)]
    # on a GPU: return [torch.rand(16, 64, 256, 256)]


def get_init_inputs():
    return [(64, 64, 64)]
    # on a GPU: return [(64, 256, 256)]
