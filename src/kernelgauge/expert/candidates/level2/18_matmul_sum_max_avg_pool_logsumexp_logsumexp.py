"""Linear layer, sum of each row, then maximum, mean and two log-sum-exps of that one value.

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
    return total  # maximum, mean and log-sum-exp of one value are that value


class ModelNew(nn.Module):
    def __init__(self, in_features: int, out_features: int):
        super().__init__()
        self.linear = nn.Linear(in_features, out_features)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return summed_linear(x, self.linear.weight, self.linear.bias, after)
