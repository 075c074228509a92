"""The outputs of a linear layer themselves, and then the sum of each row: no algebra."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from kernelgauge.expert.parts.split_gemm import product, split


@triton.jit
def _sums(x_ptr, y_ptr, columns, s0, s1, BLOCK: tl.constexpr, after: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    total = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, columns, BLOCK):
        at = start + tl.arange(0, BLOCK)
        total += tl.load(x_ptr + row * columns + at, mask=at < columns, other=0.0)
    tl.store(y_ptr + row, after(tl.sum(total, axis=0), s0, s1))


def summed_linear(x, weight, bias, after, numbers=()):
    out = product(split(x), split(weight)).squeeze(0)
    y = torch.empty(x.shape[0], 1, dtype=x.dtype, device=x.device)
    s0, s1 = (*numbers, 0.0, 0.0)[:2]
    _sums[(x.shape[0],)](out, y, out.shape[1], s0, s1, BLOCK=4096, after=after, num_warps=8)
    return y
