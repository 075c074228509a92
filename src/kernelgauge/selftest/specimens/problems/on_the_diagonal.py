import torch
import torch.nn as nn


class Model(nn.Module):
    """Each row on the diagonal of a matrix of its own: nearly all of the answer is zero, whatever the inputs are."""

    def __init__(self):
        super().__init__()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.diag_embed(x)


rows, columns = 64, 256
# on a GPU: rows, columns = 4096, 512


def get_inputs():
    return [torch.rand(rows, columns)]


def get_init_inputs():
    return []
