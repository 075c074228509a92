import torch
import torch.nn as nn


class Model(nn.Module):
    """A linear layer whose weights are an input: whoever packs them once serves stale ones."""

    def forward(self, x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
        return torch.relu(x @ weight.t())


def get_inputs():
    return [torch.randn(128, 256), torch.randn(256, 256)]


def get_init_inputs():
    return []
