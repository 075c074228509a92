"""Softsign of every element: x / (1 + |x|).

Bound by memory: PyTorch runs three kernels with two tensors between them; here it is one.
"""

import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def each(x_ptr, y_ptr, count, BLOCK: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < count, other=0.0)
    y = x / (1.0 + tl.abs(x))
    tl.store(y_ptr + at, y, mask=at < count)


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x.contiguous()
        y = torch.empty_like(x)
        each[(triton.cdiv(x.numel(), 4096),)](x, y, x.numel(), BLOCK=4096, num_warps=8)
        return y
