"""Extremes over the middle axis of [batch, length, columns]: values, and the first place where they are."""

from __future__ import annotations

import torch
import triton
import triton.language as tl


@triton.jit
def _extreme(
    x_ptr, value_ptr, place_ptr, length, columns,
    ROWS: tl.constexpr, COLS: tl.constexpr, LARGEST: tl.constexpr, PLACES: tl.constexpr,
):  # fmt: skip
    """One program looks through some columns: each thread for itself, and at the end all rows of threads together."""
    batch = tl.program_id(1).to(tl.int64)
    col = tl.program_id(0) * COLS + tl.arange(0, COLS)
    row = tl.arange(0, ROWS)
    worst = -float("inf") if LARGEST else float("inf")
    best = tl.full((ROWS, COLS), worst, tl.float32)
    place = tl.zeros((ROWS, COLS), tl.int32) + row[:, None]
    for start in range(0, length, ROWS):
        inside = (start + row < length)[:, None] & (col < columns)[None, :]
        at = (batch * length + start + row)[:, None] * columns + col[None, :]
        x = tl.load(x_ptr + at, mask=inside, other=worst)
        # What is no number stays: PyTorch returns it, and where it stands.
        better = (x > best) if LARGEST else (x < best)
        better = (better | (x != x)) & (best == best)
        best = tl.where(better, x, best)
        if PLACES:
            place = tl.where(better, start + row[:, None], place)
    broken = best != best
    sign = 1.0 if LARGEST else -1.0
    rank = tl.where(broken, float("inf"), best * sign)
    most = tl.max(rank, axis=0)
    any_broken = tl.max(broken.to(tl.int32), axis=0) > 0
    if PLACES:
        winner = tl.where(any_broken[None, :], broken, rank == most[None, :])
        first = tl.min(tl.where(winner, place, length), axis=0)
        tl.store(place_ptr + batch * columns + col, first.to(tl.int64), mask=col < columns)
    else:
        value = tl.where(any_broken, float("nan"), most * sign)
        tl.store(value_ptr + batch * columns + col, value, mask=col < columns)


def extreme(x: torch.Tensor, dim: int, largest: bool, places: bool) -> torch.Tensor:
    """Largest or smallest values over one dimension, which is removed, or the int64 places of the first of them."""
    dim %= x.dim()
    shape = x.shape[:dim] + x.shape[dim + 1 :]
    batch, length, columns = x.shape[:dim].numel(), x.shape[dim], x.shape[dim + 1 :].numel()
    out = torch.empty(shape, dtype=torch.int64 if places else x.dtype, device=x.device)
    rows, warps = (16, 4) if places else (32, 8)
    _extreme[triton.cdiv(columns, 128), batch](
        x.contiguous(),
        out,
        out,
        length,
        columns,
        ROWS=rows,
        COLS=128,
        LARGEST=largest,
        PLACES=places,
        num_warps=warps,
    )
    return out
