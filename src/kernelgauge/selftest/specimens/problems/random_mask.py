import torch
import torch.nn as nn


class Model(nn.Module):
    """Dropout in training: the random mask is most of the work."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return nn.functional.dropout(x, 0.5, True)


rows, columns = 1024, 1024
# on a GPU: rows, columns = 16384, 8192


def get_inputs():
    return [torch.rand(rows, columns)]


def get_init_inputs():
    return []
