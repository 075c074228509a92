"""Exclusive running sum along one dimension: each element becomes the sum of those before it.

Bound by memory: each value is read once and written once. One program takes one row, a block of 8,192 values after
the other, and carries what came before. Each sum is written one place further.

Tried on one NVIDIA H100 80GB HBM3, without gain, 1/89: blocks of 4,096: no difference; blocks of 8,192 with 4 warps:
no difference.
"""

import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def scan(x_ptr, y_ptr, length, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * length
    offsets = tl.arange(0, BLOCK)
    before = 0.0
    for start in range(0, length, BLOCK):
        at = start + offsets
        inside = at < length
        x = tl.load(x_ptr + row + at, mask=inside, other=0.0)
        y = tl.cumsum(x, axis=0) + before
        tl.store(y_ptr + row + at + 1, y, mask=at + 1 < length)
        before += tl.sum(x, axis=0)
    tl.store(y_ptr + row, 0.0)


class ModelNew(nn.Module):
    def __init__(self, dim: int):
        super().__init__()
        self.dim = dim

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x.movedim(self.dim, -1).contiguous()
        y = torch.empty_like(x)
        length = x.shape[-1]
        block = min(8192, triton.next_power_of_2(length))
        scan[(x.numel() // length,)](x, y, length, BLOCK=block, num_warps=max(1, block // 1024))
        return y.movedim(-1, self.dim)
