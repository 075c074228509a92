"""Linear layer, scaled, plus its own unscaled result.

Bound by the arithmetic of the product, which float32 would do on CUDA cores. Here each operand is two float16
halves and the product three on tensor cores, as precise as float32 (`parts/split_gemm.py`). All that follows it
happens to a tile before that is stored.
"""

import torch
import torch.nn as nn
import triton
import triton.language as tl

from kernelgauge.expert.parts.linear import linear


@triton.jit
def epilogue(value, rows, cols, columns, p0, p1, p2, s0, s1, s2):
    value += tl.load(p0 + cols)[None, :]
    return value * s0 + value


class ModelNew(nn.Module):
    def __init__(self, in_features: int, out_features: int, scaling_factor: float):
        super().__init__()
        self.matmul = nn.Linear(in_features, out_features)
        self.scaling_factor = scaling_factor

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return linear(x, self.matmul.weight, epilogue, (self.matmul.bias,), (self.scaling_factor,))
