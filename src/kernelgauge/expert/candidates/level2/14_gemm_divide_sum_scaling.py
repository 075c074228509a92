"""Product with the transposed weight, halved, summed over each row and scaled: (batch, 1).

The sum over the outputs of a linear layer is the product with the sum of its weights: a product of two matrices
becomes one of a matrix and a vector (`parts/summed_linear.py`). Bound by memory, which reads the weights once.

Tried on one NVIDIA H100 80GB HBM3, without gain, 2/14: the whole product, then its sum: 487 % more time; 32 parts of
the rows: 36 % more time.
"""

import torch
import torch.nn as nn
import triton

from kernelgauge.expert.parts.summed_linear import summed_linear


@triton.jit
def after(total, s0, s1):
    return total / 2 * s0


class ModelNew(nn.Module):
    def __init__(self, input_size: int, hidden_size: int, scaling_factor: float):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(hidden_size, input_size))
        self.scaling_factor = scaling_factor

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return summed_linear(x, self.weight, None, after, (self.scaling_factor,))
