import torch
import torch.nn as nn


class Model(nn.Module):
    """The same function four times: whoever computes it once is faster."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.sigmoid(x) + torch.sigmoid(x) + torch.sigmoid(x) + torch.sigmoid(x)


rows, columns = 1024, 1024
# on a GPU: rows, columns = 8192, 8192


def get_inputs():
    return [torch.rand(rows, columns)]


def get_init_inputs():
    return []
