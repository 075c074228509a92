"""Rows too long for one program: a team holds a row in the registers of several multiprocessors, and reads it once.

Each member stores what it found, counts itself in, and waits until all of its team have. Programs begin in the
order of their numbers, and the members of a team have consecutive ones, so that nobody waits for a program that
cannot begin: as long as a whole team fits on the GPU, which `together` asks. Elsewhere the same work is two
launches.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl

BLOCK = 32768
"""Values that one program holds: 64 registers of each of its 512 threads."""


@triton.jit
def meet(counter_ptr, members):
    """When this returns, what any program of the team has stored before its own call can be read.

    A team of one needs it as well: other threads of the program read what one of them has stored.
    """
    tl.debug_barrier()
    there = tl.atomic_add(counter_ptr, 1, sem="acq_rel", scope="gpu") + 1
    while there < members:
        there = tl.atomic_add(counter_ptr, 0, sem="acquire", scope="gpu")
    tl.debug_barrier()


def together(x: torch.Tensor, members: int) -> bool:
    """Whether a team of so many runs at once: one for each multiprocessor, and not one after the other on a CPU."""
    return x.is_cuda and members <= torch.cuda.get_device_properties(x.device).multi_processor_count


@triton.jit
def _moments(
    x_ptr, y_ptr, counters_ptr, means_ptr, spreads_ptr, weight_ptr, bias_ptr, length, members, eps, period,
    REPEATS: tl.constexpr, SIZE: tl.constexpr, TEAM: tl.constexpr,
    STORES: tl.constexpr, ENDS: tl.constexpr, MEETS: tl.constexpr,
):  # fmt: skip
    """Mean and variance of a row by all of its team, and the row normalised.

    The weight of the value at `i` is number `i // REPEATS % period`: one for each value, or for each channel.
    """
    row, member = tl.program_id(0) // members, tl.program_id(0) % members
    at = member * SIZE + tl.arange(0, SIZE)
    inside = at < length
    x = tl.load(x_ptr + row.to(tl.int64) * length + at, mask=inside, other=0.0)
    if STORES:
        count = tl.minimum(length - member * SIZE, SIZE).to(tl.float32)
        mean = tl.sum(x, axis=0) / count
        away = tl.where(inside, x - mean, 0.0)
        tl.store(means_ptr + row * TEAM + member, mean)
        tl.store(spreads_ptr + row * TEAM + member, tl.sum(away * away, axis=0))
    if MEETS:
        meet(counters_ptr + row, members)
    if ENDS:
        other = tl.arange(0, TEAM)
        counts = tl.minimum(tl.maximum(length - other * SIZE, 0), SIZE).to(tl.float32)
        means = tl.load(means_ptr + row * TEAM + other, mask=other < members, other=0.0, cache_modifier=".cg")
        spreads = tl.load(spreads_ptr + row * TEAM + other, mask=other < members, other=0.0, cache_modifier=".cg")
        mean = tl.sum(means * counts, axis=0) / length
        spread = tl.sum(spreads + counts * (means - mean) * (means - mean), axis=0)
        y = (x - mean) * (1.0 / tl.sqrt(spread / length + eps))
        if weight_ptr is not None:
            first = row % (tl.maximum(period * REPEATS // length, 1)) * (length // REPEATS)
            if REPEATS % SIZE == 0:  # one channel for all that this program holds
                which = first + member * SIZE // REPEATS
                y = y * tl.load(weight_ptr + which) + tl.load(bias_ptr + which)
            else:
                which = first + at // REPEATS
                y *= tl.load(weight_ptr + which, mask=inside, other=0.0)
                y += tl.load(bias_ptr + which, mask=inside, other=0.0)
        tl.store(y_ptr + row.to(tl.int64) * length + at, y, mask=inside)


def normalised(
    x: torch.Tensor,
    rows: int,
    eps: float,
    weight: torch.Tensor | None = None,
    bias: torch.Tensor | None = None,
    repeats: int = 1,
) -> torch.Tensor:
    """`x`, contiguous, as so many rows, each less its mean and over its standard deviation.

    Args:
        weight, bias: one value for `repeats` values of `x`, from the first row on; they begin again where they end.
    """
    y = torch.empty_like(x)
    length = x.numel() // rows
    members = triton.cdiv(length, BLOCK)
    team = triton.next_power_of_2(members)
    means, spreads = torch.empty(2, rows, team, dtype=torch.float32, device=x.device)
    counters = torch.zeros(rows, dtype=torch.int32, device=x.device)
    period = 0 if weight is None else weight.numel()
    block = min(BLOCK, triton.next_power_of_2(length))
    steps = ((True, True),) if together(x, members) else ((True, False), (False, True))
    for stores, ends in steps:
        _moments[(rows * members,)](
            x, y, counters, means, spreads, weight, bias, length, members, eps, period,
            REPEATS=repeats, SIZE=block, TEAM=team, STORES=stores, ENDS=ends, MEETS=stores and ends,
            num_warps=max(1, block // 2048),
        )  # fmt: skip
    return y
