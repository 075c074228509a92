"""Linear layer, batch normalisation in training mode, GELU, ReLU.

Bound by the arithmetic of the product, which float32 would do on CUDA cores. Here each operand is two float16
halves and the product three on tensor cores, as precise as float32 (`parts/split_gemm.py`). The statistics of each
channel need all rows: a second kernel takes them, a third normalises.
"""

import torch
import torch.nn as nn
import triton
import triton.language as tl

from kernelgauge.expert.parts.batch_norm import batch_norm
from kernelgauge.expert.parts.linear import linear
from kernelgauge.expert.parts.pointwise import gelu


@triton.jit
def after(y, p0, s0, s1):
    return tl.maximum(gelu(y), 0.0)


class ModelNew(nn.Module):
    def __init__(self, in_features: int, out_features: int):
        super().__init__()
        self.gemm = nn.Linear(in_features, out_features)
        self.batch_norm = nn.BatchNorm1d(out_features)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = linear(x, self.gemm.weight, tensors=(self.gemm.bias,))
        return batch_norm(x, self.batch_norm, after)
