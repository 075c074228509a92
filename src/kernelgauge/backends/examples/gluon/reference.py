import torch
import torch.nn as nn


class Model(nn.Module):
    """Root mean square normalisation of each row, with a weight per feature."""

    def __init__(self, features: int, eps: float):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(features))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        mean_square = x.pow(2).mean(dim=-1, keepdim=True)
        return x * torch.rsqrt(mean_square + self.eps) * self.weight


batch_size = 512
features = 1000
eps = 1e-5


def get_inputs():
    return [torch.rand(batch_size, features)]


def get_init_inputs():
    return [features, eps]
