import torch
import torch.nn as nn


class Model(nn.Module):
    """A table with one row of each block replaced, as a new tensor."""

    def __init__(self):
        super().__init__()

    def forward(self, table: torch.Tensor, row: torch.Tensor) -> torch.Tensor:
        out = table.clone()
        out[:, 7] = row
        return out


blocks = 64
# on a GPU: blocks = 4096


def get_inputs():
    return [torch.rand(blocks, 128, 512), torch.rand(blocks, 512)]


def get_init_inputs():
    return []
