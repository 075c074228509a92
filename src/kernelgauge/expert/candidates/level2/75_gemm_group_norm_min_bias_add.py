"""Linear layer, group normalisation, row minimum, plus a bias: (1, out_features, batch, 1).

Bound by the arithmetic of the product, which float32 would do on CUDA cores. Here each operand is two float16
halves and the product three on tensor cores, as precise as float32 (`parts/split_gemm.py`). The normalisation takes
groups of one row, and is a second kernel over rows that still lie in the L2 cache. The minimum of each row is taken
there as well; a third kernel adds the bias, which makes columns of the rows.
"""

import torch
import torch.nn as nn
import triton
import triton.language as tl

from kernelgauge.expert.parts.linear import linear
from kernelgauge.expert.parts.rows import group_norm_rows


@triton.jit
def least(x_ptr, y_ptr, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    offsets = tl.arange(0, BLOCK)
    inside = offsets < columns
    x = tl.load(x_ptr + row * columns + offsets, mask=inside, other=0.0)
    tl.store(y_ptr + row, tl.min(tl.where(inside, x, float("inf")), axis=0))


@triton.jit
def spread(least_ptr, bias_ptr, y_ptr, rows, BLOCK: tl.constexpr):
    channel = tl.program_id(0).to(tl.int64)
    row = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inside = row < rows
    value = tl.load(least_ptr + row, mask=inside, other=0.0) + tl.load(bias_ptr + channel)
    tl.store(y_ptr + channel * rows + row, value, mask=inside)


class ModelNew(nn.Module):
    def __init__(self, in_features: int, out_features: int, num_groups: int, bias_shape: tuple):
        super().__init__()
        self.gemm = nn.Linear(in_features, out_features)
        self.group_norm = nn.GroupNorm(num_groups, out_features)
        self.bias = nn.Parameter(torch.randn(bias_shape))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = linear(x, self.gemm.weight, tensors=(self.gemm.bias,))
        x = group_norm_rows(x, self.group_norm)
        rows, columns = x.shape
        smallest = torch.empty(rows, dtype=x.dtype, device=x.device)
        block = triton.next_power_of_2(columns)
        least[(rows,)](x, smallest, columns, BLOCK=block, num_warps=16 if block >= 8192 else 4)
        y = torch.empty(1, columns, rows, 1, dtype=x.dtype, device=x.device)
        spread[(columns, triton.cdiv(rows, 1024))](smallest, self.bias, y, rows, BLOCK=1024, num_warps=4)
        return y
