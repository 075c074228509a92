"""Linear layer, normalisation of each row over its features, plus y, times y.

Bound by the arithmetic of the product, which float32 would do on CUDA cores. Here each operand is two float16
halves and the product three on tensor cores, as precise as float32 (`parts/split_gemm.py`). What follows takes
whole rows, and is a second kernel over rows that still lie in the L2 cache.
"""

import torch
import torch.nn as nn
import triton
import triton.language as tl

from kernelgauge.expert.parts.linear import linear


@triton.jit
def finish(x_ptr, y_ptr, other_ptr, eps, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    offsets = tl.arange(0, BLOCK)
    inside = offsets < columns
    x = tl.load(x_ptr + row * columns + offsets, mask=inside, other=0.0)
    other = tl.load(other_ptr + row * columns + offsets, mask=inside, other=0.0)
    mean = tl.sum(x, axis=0) / columns
    away = tl.where(inside, x - mean, 0.0)
    normal = away / tl.sqrt(tl.sum(away * away, axis=0) / columns + eps)
    tl.store(y_ptr + row * columns + offsets, (normal + other) * other, mask=inside)


class ModelNew(nn.Module):
    def __init__(self, in_features: int, out_features: int, eps: float = 1e-5, momentum: float = 0.1):
        super().__init__()
        self.bmm = nn.Linear(in_features, out_features)
        self.instance_norm = nn.InstanceNorm2d(out_features, eps=eps, momentum=momentum)

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        x, y = linear(x, self.bmm.weight, tensors=(self.bmm.bias,)), y.contiguous()
        out = torch.empty_like(x)
        block = triton.next_power_of_2(x.shape[1])
        finish[(x.shape[0],)](
            x, out, y, self.instance_norm.eps, x.shape[1], BLOCK=block, num_warps=16 if block >= 8192 else 4
        )
        return out
