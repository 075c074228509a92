import math

import torch
import torch.nn as nn


class Model(nn.Module):
    """Bias and GELU by its tanh formula: nine passes over memory in eager PyTorch."""

    def __init__(self, features: int):
        super().__init__()
        self.bias = nn.Parameter(torch.zeros(features))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x + self.bias
        inner = math.sqrt(2.0 / math.pi) * (x + 0.044715 * torch.pow(x, 3.0))
        return 0.5 * x * (1.0 + torch.tanh(inner))


batch_size = 512
features = 1000


def get_inputs():
    return [torch.rand(batch_size, features)]


def get_init_inputs():
    return [features]
