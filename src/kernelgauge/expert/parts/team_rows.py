"""Softmax and norms of rows too long for one program, each row read once by a team."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from kernelgauge.expert.parts.teams import BLOCK, meet, together


@triton.jit
def _softmax(
    x_ptr, y_ptr, counters_ptr, mosts_ptr, sums_ptr, length, members,
    SIZE: tl.constexpr, TEAM: tl.constexpr, LOGARITHM: tl.constexpr,
    STORES: tl.constexpr, ENDS: tl.constexpr, MEETS: tl.constexpr,
):  # fmt: skip
    row, member = tl.program_id(0) // members, tl.program_id(0) % members
    at = member * SIZE + tl.arange(0, SIZE)
    inside = at < length
    x = tl.load(x_ptr + row.to(tl.int64) * length + at, mask=inside, other=-float("inf"))
    if STORES:
        most = tl.max(x, axis=0)
        tl.store(mosts_ptr + row * TEAM + member, most)
        tl.store(sums_ptr + row * TEAM + member, tl.sum(tl.exp(x - most), axis=0))
    if MEETS:
        meet(counters_ptr + row, members)
    if ENDS:
        other = tl.arange(0, TEAM)
        here = row * TEAM + other
        mosts = tl.load(mosts_ptr + here, mask=other < members, other=-float("inf"), cache_modifier=".cg")
        sums = tl.load(sums_ptr + here, mask=other < members, other=0.0, cache_modifier=".cg")
        most = tl.max(mosts, axis=0)
        total = tl.sum(sums * tl.exp(mosts - most), axis=0)
        y = x - (most + tl.log(total)) if LOGARITHM else tl.exp(x - most) * (1.0 / total)
        tl.store(y_ptr + row.to(tl.int64) * length + at, y, mask=inside)


def softmax(x: torch.Tensor, logarithm: bool = False) -> torch.Tensor:
    """Over each row of [rows, length], contiguous, or its logarithm."""
    y = torch.empty_like(x)
    rows, length = x.shape
    members = triton.cdiv(length, BLOCK)
    team = triton.next_power_of_2(members)
    mosts, sums = torch.empty(2, rows, team, dtype=torch.float32, device=x.device)
    counters = torch.zeros(rows, dtype=torch.int32, device=x.device)
    block = min(BLOCK, triton.next_power_of_2(length))
    steps = ((True, True),) if together(x, members) else ((True, False), (False, True))
    for stores, ends in steps:
        _softmax[(rows * members,)](
            x, y, counters, mosts, sums, length, members, SIZE=block, TEAM=team, LOGARITHM=logarithm,
            STORES=stores, ENDS=ends, MEETS=stores and ends, num_warps=max(1, block // 2048),
        )  # fmt: skip
    return y


@triton.jit
def _over_norm(
    x_ptr, y_ptr, counters_ptr, sums_ptr, length, members,
    SIZE: tl.constexpr, TEAM: tl.constexpr, SQUARES: tl.constexpr,
    STORES: tl.constexpr, ENDS: tl.constexpr, MEETS: tl.constexpr,
):  # fmt: skip
    row, member = tl.program_id(0) // members, tl.program_id(0) % members
    at = member * SIZE + tl.arange(0, SIZE)
    inside = at < length
    x = tl.load(x_ptr + row.to(tl.int64) * length + at, mask=inside, other=0.0)
    if STORES:
        tl.store(sums_ptr + row * TEAM + member, tl.sum(x * x if SQUARES else tl.abs(x), axis=0))
    if MEETS:
        meet(counters_ptr + row, members)
    if ENDS:
        other = tl.arange(0, TEAM)
        sums = tl.load(sums_ptr + row * TEAM + other, mask=other < members, other=0.0, cache_modifier=".cg")
        total = tl.sum(sums, axis=0)
        norm = tl.sqrt(total) if SQUARES else total / length
        tl.store(y_ptr + row.to(tl.int64) * length + at, x / norm, mask=inside)


def over_norm(x: torch.Tensor, squares: bool) -> torch.Tensor:
    """Each row of [rows, length], contiguous, over its Euclidean norm, or over the mean of its absolute values."""
    y = torch.empty_like(x)
    rows, length = x.shape
    members = triton.cdiv(length, BLOCK)
    team = triton.next_power_of_2(members)
    sums = torch.empty(rows, team, dtype=torch.float32, device=x.device)
    counters = torch.zeros(rows, dtype=torch.int32, device=x.device)
    block = min(BLOCK, triton.next_power_of_2(length))
    steps = ((True, True),) if together(x, members) else ((True, False), (False, True))
    for stores, ends in steps:
        _over_norm[(rows * members,)](
            x, y, counters, sums, length, members, SIZE=block, TEAM=team, SQUARES=squares,
            STORES=stores, ENDS=ends, MEETS=stores and ends, num_warps=max(1, block // 2048),
        )  # fmt: skip
    return y
