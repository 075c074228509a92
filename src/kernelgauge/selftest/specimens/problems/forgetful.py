import torch
import torch.nn as nn


class Model(nn.Module):
    """Subtracts the mean of a single value from it: the output does not depend on the input."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        total = x.sum(dim=1, keepdim=True)
        return torch.sigmoid(total - total.mean(dim=1, keepdim=True))


def get_inputs():
    return [torch.rand(64, 256)]


def get_init_inputs():
    return []
