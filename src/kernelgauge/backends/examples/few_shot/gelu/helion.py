import helion
import helion.language as hl
import torch
import torch.nn as nn


@helion.kernel(config=helion.Config(block_sizes=[2, 512], num_warps=4), static_shapes=True)
def bias_gelu(x: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """One read and one write of each element."""
    y = torch.empty_like(x)
    for row, column in hl.tile(x.size()):
        value = x[row, column] + bias[column]
        # 0.5 * (1 + tanh(u)) is sigmoid(2u), in which nothing cancels where u is far below zero.
        u = 0.7978845608028654 * (value + 0.044715 * value * value * value)
        y[row, column] = value * torch.sigmoid(2.0 * u)
    return y


class ModelNew(nn.Module):
    """Bias and GELU in one pass over memory."""

    def __init__(self, features: int):
        super().__init__()
        self.bias = nn.Parameter(torch.zeros(features))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return bias_gelu(x.reshape(-1, x.shape[-1]), self.bias.detach()).view(x.shape)
