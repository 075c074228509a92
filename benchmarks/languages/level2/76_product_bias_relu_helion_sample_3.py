import helion
import helion.language as hl
import torch
import torch.nn as nn


@helion.kernel(config=helion.Config(block_sizes=[1, 2048], num_warps=4), static_shapes=True)
def bias_relu(x: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """What follows the product, which is cuBLAS's: Helion's in float32 runs on CUDA cores, and slower."""
    y = torch.empty_like(x)
    for row, column in hl.tile(x.size()):
        y[row, column] = torch.relu(x[row, column] + bias[column])
    return y


class ModelNew(nn.Module):
    def __init__(self, in_features: int, out_features: int, bias_shape: tuple):
        super().__init__()
        self.gemm = nn.Linear(in_features, out_features, bias=False)
        self.bias = nn.Parameter(torch.randn(bias_shape))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return bias_relu(self.gemm(x).detach(), self.bias.detach())
