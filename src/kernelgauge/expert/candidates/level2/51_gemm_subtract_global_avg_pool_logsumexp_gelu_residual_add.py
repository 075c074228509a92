"""The input plus, for each row, GELU of the mean of a shifted linear layer: (batch, in_features).

The sum over the outputs of a linear layer is the product with the sum of its weights: a product of two matrices
becomes one of a matrix and a vector (`parts/summed_linear.py`). Bound by memory, which reads the weights once.

Tried on one NVIDIA H100 80GB HBM3, without gain, 2/14: the whole product, then its sum: 487 % more time; 32 parts of
the rows: 36 % more time.
"""

import torch
import torch.nn as nn
import triton

from kernelgauge.expert.parts.pointwise import gelu
from kernelgauge.expert.parts.summed_linear import summed_linear


@triton.jit
def after(total, s0, s1):
    return gelu(total / s0)


class ModelNew(nn.Module):
    def __init__(self, in_features: int, out_features: int, bias: bool = True):
        super().__init__()
        self.gemm = nn.Linear(in_features, out_features, bias=bias)
        self.subtract = nn.Parameter(torch.randn(out_features))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        bias = (-self.subtract if self.gemm.bias is None else self.gemm.bias - self.subtract).contiguous()
        return summed_linear(x, self.gemm.weight, bias, after, (float(self.gemm.out_features),), spread=True)
