"""What follows a product: one program takes one row of it, which lies in the L2 cache, into registers."""

from __future__ import annotations

import torch
import triton
import triton.language as tl


@triton.jit
def log_sum_exp(x, inside):
    """Of a row: the logarithm of the sum of exponentials, without overflow."""
    most = tl.max(tl.where(inside, x, -float("inf")), axis=0)
    return most + tl.log(tl.sum(tl.where(inside, tl.exp(x - most), 0.0), axis=0))


@triton.jit
def _softmax_rows(x_ptr, y_ptr, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    offsets = tl.arange(0, BLOCK)
    inside = offsets < columns
    x = tl.load(x_ptr + row * columns + offsets, mask=inside, other=-float("inf"))
    e = tl.exp(x - tl.max(x, axis=0))
    tl.store(y_ptr + row * columns + offsets, e / tl.sum(e, axis=0), mask=inside)


def softmax_rows(x: torch.Tensor) -> torch.Tensor:
    """Of [rows, columns], contiguous: up to 65,536 columns."""
    y = torch.empty_like(x)
    rows, columns = x.shape
    block = triton.next_power_of_2(columns)
    _softmax_rows[(rows,)](x, y, columns, BLOCK=block, num_warps=16 if block >= 8192 else 4)
    return y


@triton.jit
def _group_norm_rows(
    x_ptr, y_ptr, weight_ptr, bias_ptr, p0, s0, s1, groups, size, eps,
    GROUPS: tl.constexpr, SIZE: tl.constexpr, after: tl.constexpr,
):  # fmt: skip
    """One program normalises some groups of one row."""
    row = tl.program_id(0).to(tl.int64)
    group = tl.program_id(1) * GROUPS + tl.arange(0, GROUPS)
    within = tl.arange(0, SIZE)
    at = group[:, None] * size + within[None, :]
    inside = (group < groups)[:, None] & (within < size)[None, :]
    x = tl.load(x_ptr + row * groups * size + at, mask=inside, other=0.0)
    mean = tl.sum(x, axis=1) / size
    away = tl.where(inside, x - mean[:, None], 0.0)
    scale = 1.0 / tl.sqrt(tl.sum(away * away, axis=1) / size + eps)
    weight = tl.load(weight_ptr + at, mask=inside, other=0.0)
    y = away * scale[:, None] * weight + tl.load(bias_ptr + at, mask=inside, other=0.0)
    tl.store(y_ptr + row * groups * size + at, after(y, at, inside, p0, s0, s1), mask=inside)


@triton.jit
def nothing_after(y, at, inside, p0, s0, s1):
    return y


def group_norm_rows(
    x: torch.Tensor,
    norm: torch.nn.GroupNorm,
    after: triton.JITFunction = nothing_after,
    tensor: torch.Tensor | None = None,
    numbers: tuple[float, ...] = (),
) -> torch.Tensor:
    """Of [rows, channels], contiguous, by a `GroupNorm` with weights, then `after`."""
    y = torch.empty_like(x)
    rows, channels = x.shape
    size = channels // norm.num_groups
    side = triton.next_power_of_2(size)
    many = max(1, min(triton.next_power_of_2(norm.num_groups), 4096 // side))
    s0, s1 = (*numbers, 0.0, 0.0)[:2]
    _group_norm_rows[(rows, triton.cdiv(norm.num_groups, many))](
        x, y, norm.weight, norm.bias, tensor, s0, s1, norm.num_groups, size, norm.eps,
        GROUPS=many, SIZE=side, after=after, num_warps=4 if many * side <= 2048 else 8,
    )  # fmt: skip
    return y
