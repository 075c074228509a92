"""Linear layer, swish, plus a separate bias, group normalisation.

Bound by the arithmetic of the product, which float32 would do on CUDA cores. Here each operand is two float16
halves and the product three on tensor cores, as precise as float32 (`parts/split_gemm.py`). The normalisation takes
groups of one row, and is a second kernel over rows that still lie in the L2 cache.
"""

import torch
import torch.nn as nn
import triton
import triton.language as tl

from kernelgauge.expert.parts.linear import linear
from kernelgauge.expert.parts.pointwise import swish
from kernelgauge.expert.parts.rows import group_norm_rows


@triton.jit
def epilogue(value, rows, cols, columns, p0, p1, p2, s0, s1, s2):
    value += tl.load(p0 + cols)[None, :]
    return swish(value) + tl.load(p1 + cols)[None, :]


class ModelNew(nn.Module):
    def __init__(self, in_features: int, out_features: int, num_groups: int, bias_shape: tuple):
        super().__init__()
        self.matmul = nn.Linear(in_features, out_features)
        self.bias = nn.Parameter(torch.randn(bias_shape))
        self.group_norm = nn.GroupNorm(num_groups, out_features)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = linear(x, self.matmul.weight, epilogue, (self.matmul.bias, self.bias))
        return group_norm_rows(x, self.group_norm)
