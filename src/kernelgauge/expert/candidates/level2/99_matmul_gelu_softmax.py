"""Linear layer, GELU, softmax over each row.

Bound by the arithmetic of the product, which float32 would do on CUDA cores. Here each operand is two float16
halves and the product three on tensor cores, as precise as float32 (`parts/split_gemm.py`). What follows takes
whole rows, and is a second kernel over rows that still lie in the L2 cache.
"""

import torch
import torch.nn as nn
import triton
import triton.language as tl

from kernelgauge.expert.parts.linear import linear
from kernelgauge.expert.parts.pointwise import gelu
from kernelgauge.expert.parts.rows import softmax_rows


@triton.jit
def epilogue(value, rows, cols, columns, p0, p1, p2, s0, s1, s2):
    value += tl.load(p0 + cols)[None, :]
    return gelu(value)


class ModelNew(nn.Module):
    def __init__(self, in_features: int, out_features: int):
        super().__init__()
        self.linear = nn.Linear(in_features, out_features)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return softmax_rows(linear(x, self.linear.weight, epilogue, (self.linear.bias,)))
