"""Batch normalisation of [rows, channels] in training mode, where rows are the batch."""

from __future__ import annotations

import torch
import triton
import triton.language as tl


@triton.jit
def _column_statistics(x_ptr, mean_ptr, variance_ptr, rows, columns, BR: tl.constexpr, BC: tl.constexpr):
    """Mean and variance of some columns: each block by its own mean, put together as Chan and others do."""
    col = tl.program_id(0) * BC + tl.arange(0, BC)
    down = tl.arange(0, BR)
    mean, spread = tl.zeros((BC,), tl.float32), tl.zeros((BC,), tl.float32)
    seen = 0.0
    for start in range(0, rows, BR):
        inside = (start + down < rows)[:, None] & (col < columns)[None, :]
        x = tl.load(x_ptr + (start + down).to(tl.int64)[:, None] * columns + col[None, :], mask=inside, other=0.0)
        count = tl.minimum(rows - start, BR).to(tl.float32)
        own = tl.sum(x, axis=0) / count
        away = tl.where(inside, x - own[None, :], 0.0)
        more = seen + count
        spread += tl.sum(away * away, axis=0) + (own - mean) * (own - mean) * (seen * count / more)
        mean += (own - mean) * (count / more)
        seen = more
    tl.store(mean_ptr + col, mean, mask=col < columns)
    tl.store(variance_ptr + col, spread / rows, mask=col < columns)


@triton.jit
def _normalise(
    x_ptr, y_ptr, mean_ptr, variance_ptr, weight_ptr, bias_ptr, p0, s0, s1, eps, count, columns,
    BLOCK: tl.constexpr, after: tl.constexpr,
):  # fmt: skip
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = at < count
    col = at % columns
    x = tl.load(x_ptr + at, mask=inside, other=0.0)
    scale = tl.load(weight_ptr + col) / tl.sqrt(tl.load(variance_ptr + col) + eps)
    y = (x - tl.load(mean_ptr + col)) * scale + tl.load(bias_ptr + col)
    tl.store(y_ptr + at, after(y, p0, s0, s1), mask=inside)


@triton.jit
def nothing_after(y, p0, s0, s1):
    return y


def batch_norm(
    x: torch.Tensor,
    norm: torch.nn.BatchNorm1d,
    after: triton.JITFunction = nothing_after,
    tensor: torch.Tensor | None = None,
    numbers: tuple[float, ...] = (),
) -> torch.Tensor:
    """By the statistics of `x` itself; the module's running ones are brought up to date. Then `after`."""
    rows, columns = x.shape
    mean, variance = torch.empty(2, columns, dtype=torch.float32, device=x.device)
    _column_statistics[(triton.cdiv(columns, 32),)](x, mean, variance, rows, columns, BR=64, BC=32, num_warps=4)
    with torch.no_grad():
        norm.num_batches_tracked += 1
        norm.running_mean.lerp_(mean, norm.momentum)
        norm.running_var.lerp_(variance * (rows / (rows - 1)), norm.momentum)
    y = torch.empty_like(x)
    s0, s1 = (*numbers, 0.0, 0.0)[:2]
    _normalise[(triton.cdiv(x.numel(), 2048),)](
        x, y, mean, variance, norm.weight, norm.bias, tensor, s0, s1, norm.eps, x.numel(), columns,
        BLOCK=2048, after=after, num_warps=8,
    )  # fmt: skip
    return y
