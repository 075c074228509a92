"""Linear layer, swish, halved, clamp to [-1, 1], tanh, the same clamp again.

Bound by the arithmetic of the product, which float32 would do on CUDA cores. Here each operand is two float16
halves and the product three on tensor cores, as precise as float32 (`parts/split_gemm.py`). All that follows it
happens to a tile before that is stored.
"""

import torch
import torch.nn as nn
import triton
import triton.language as tl

from kernelgauge.expert.parts.linear import linear
from kernelgauge.expert.parts.pointwise import clamp, swish, tanh


@triton.jit
def epilogue(value, rows, cols, columns, p0, p1, p2, s0, s1, s2):
    value += tl.load(p0 + cols)[None, :]
    return clamp(tanh(clamp(swish(value) / 2.0, -1.0, 1.0)), -1.0, 1.0)


class ModelNew(nn.Module):
    def __init__(self, in_features: int, out_features: int, bias: bool = True):
        super().__init__()
        self.gemm = nn.Linear(in_features, out_features, bias=bias)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return linear(x, self.gemm.weight, epilogue, (self.gemm.bias,))
