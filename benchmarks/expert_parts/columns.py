"""Extremes over the middle axis of [batch, length, columns], with cheaper places, and in parts."""

from __future__ import annotations

import torch
import triton
import triton.language as tl


@triton.jit
def _extreme(
    x_ptr, value_ptr, place_ptr, length, columns, each,
    ROWS: tl.constexpr, COLS: tl.constexpr, LARGEST: tl.constexpr, PLACES: tl.constexpr, EVEN: tl.constexpr,
):  # fmt: skip
    """Extremes of some columns over a part of the length: places of 32 bits, no mask where rows fill the blocks."""
    batch = tl.program_id(1).to(tl.int64)
    part = tl.program_id(2)
    col = tl.program_id(0) * COLS + tl.arange(0, COLS)
    row = tl.arange(0, ROWS)
    x_ptr += batch * length * columns
    worst: tl.constexpr = -float("inf") if LARGEST else float("inf")
    best = tl.full((ROWS, COLS), worst, tl.float32)
    place = tl.zeros((ROWS, COLS), tl.int32) + part * each + row[:, None]
    at = (part * each + row)[:, None] * columns + tl.minimum(col, columns - 1)[None, :]
    for start in range(part * each, tl.minimum(part * each + each, length), ROWS):
        x = tl.load(x_ptr + at) if EVEN else tl.load(x_ptr + at, mask=(start + row < length)[:, None], other=worst)
        at += ROWS * columns
        if PLACES:
            better = (x > best) if LARGEST else (x < best)
            better = (better | (x != x)) & (best == best)
            best = tl.where(better, x, best)
            place = tl.where(better, start + row[:, None], place)
        elif LARGEST:
            best = tl.maximum(best, x, propagate_nan=tl.PropagateNan.ALL)
        else:
            best = tl.minimum(best, x, propagate_nan=tl.PropagateNan.ALL)
    broken = best != best
    sign = 1.0 if LARGEST else -1.0
    rank = tl.where(broken, float("inf"), best * sign)
    most = tl.max(rank, axis=0)
    any_broken = tl.max(broken.to(tl.int32), axis=0) > 0
    to = (batch * tl.num_programs(2) + part) * columns + col
    if PLACES:
        winner = tl.where(any_broken[None, :], broken, rank == most[None, :])
        first = tl.min(tl.where(winner, place, length), axis=0)
        tl.store(place_ptr + to, first.to(tl.int64), mask=col < columns)
    if value_ptr is not None:
        tl.store(value_ptr + to, tl.where(any_broken, float("nan"), most * sign), mask=col < columns)


@triton.jit
def _best_part(value_ptr, place_ptr, y_ptr, parts, columns, BLOCK: tl.constexpr, LARGEST: tl.constexpr):
    """The place of the first best part."""
    batch = tl.program_id(1).to(tl.int64)
    col = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = col < columns
    at = batch * parts * columns + col
    best = tl.load(value_ptr + at, mask=inside, other=0.0)
    place = tl.load(place_ptr + at, mask=inside, other=0)
    for part in range(1, parts):
        x = tl.load(value_ptr + at + part * columns, mask=inside, other=0.0)
        better = (x > best) if LARGEST else (x < best)
        better = (better | (x != x)) & (best == best)
        place = tl.where(better, tl.load(place_ptr + at + part * columns, mask=inside, other=0), place)
        best = tl.where(better, x, best)
    tl.store(y_ptr + batch * columns + col, place, mask=inside)


ROWS, COLS, PARTS, WARPS = 16, 128, 1, 4


def extreme(x: torch.Tensor, dim: int, largest: bool, places: bool) -> torch.Tensor:
    dim %= x.dim()
    shape = x.shape[:dim] + x.shape[dim + 1 :]
    batch, length, columns = x.shape[:dim].numel(), x.shape[dim], x.shape[dim + 1 :].numel()
    x = x.contiguous()
    each = triton.cdiv(triton.cdiv(length, PARTS), ROWS) * ROWS
    parts = triton.cdiv(length, each)
    value = torch.empty(batch, parts, columns, dtype=x.dtype, device=x.device) if parts > 1 or not places else None
    place = torch.empty(batch, parts, columns, dtype=torch.int64, device=x.device) if places else None
    _extreme[triton.cdiv(columns, COLS), batch, parts](
        x, value, place, length, columns, each,
        ROWS=ROWS, COLS=COLS, LARGEST=largest, PLACES=places, EVEN=length % ROWS == 0, num_warps=WARPS,
    )  # fmt: skip
    if parts == 1:
        return (place if places else value).view(shape)
    if places:
        out = torch.empty(batch, columns, dtype=torch.int64, device=x.device)
        _best_part[triton.cdiv(columns, 256), batch](value, place, out, parts, columns, BLOCK=256, LARGEST=largest)
        return out.view(shape)
    out = torch.empty(batch, 1, columns, dtype=x.dtype, device=x.device)
    few = 16
    _extreme[triton.cdiv(columns, 256), batch, 1](
        value, out, None, parts, columns, few * triton.cdiv(parts, few),
        ROWS=few, COLS=256, LARGEST=largest, PLACES=False, EVEN=parts % few == 0, num_warps=4,
    )  # fmt: skip
    return out.view(shape)
