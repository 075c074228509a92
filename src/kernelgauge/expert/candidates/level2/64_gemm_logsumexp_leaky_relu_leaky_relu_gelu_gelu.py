"""Linear layer, log-sum-exp of each row, leaky ReLU twice, GELU twice: (batch, 1).

Bound by the arithmetic of the product, which float32 would do on CUDA cores. Here each operand is two float16
halves and the product three on tensor cores, as precise as float32 (`parts/split_gemm.py`). What follows takes
whole rows, and is a second kernel over rows that still lie in the L2 cache.
"""

import torch
import torch.nn as nn
import triton
import triton.language as tl

from kernelgauge.expert.parts.linear import linear
from kernelgauge.expert.parts.pointwise import gelu, leaky_relu
from kernelgauge.expert.parts.rows import log_sum_exp


@triton.jit
def finish(x_ptr, y_ptr, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    offsets = tl.arange(0, BLOCK)
    inside = offsets < columns
    x = tl.load(x_ptr + row * columns + offsets, mask=inside, other=0.0)
    z = leaky_relu(leaky_relu(log_sum_exp(x, inside), 0.01), 0.01)
    tl.store(y_ptr + row, gelu(gelu(z)))


class ModelNew(nn.Module):
    def __init__(self, in_features: int, out_features: int, bias: bool = True):
        super().__init__()
        self.linear = nn.Linear(in_features, out_features, bias=bias)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = linear(x, self.linear.weight, tensors=(self.linear.bias,))
        y = torch.empty(x.shape[0], 1, dtype=x.dtype, device=x.device)
        block = triton.next_power_of_2(x.shape[1])
        finish[(x.shape[0],)](x, y, x.shape[1], BLOCK=block, num_warps=16 if block >= 8192 else 4)
        return y
