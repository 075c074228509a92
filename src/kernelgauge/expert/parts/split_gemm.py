"""Products of float32 matrices on tensor cores, as precise as float32: each operand is a sum of two float16 halves.

`x = hi + lo` holds 22 bits of x, and `hi hi + hi lo + lo hi` all of the product that float32 would keep. Three half
products on tensor cores cost less than one of float32 on CUDA cores (Ootomo and Yokota, 2022, "Recovering single
precision accuracy from Tensor Cores"). Each row of both operands is scaled by a power of two, which is exact, so
that its largest value lies in [2^14, 2^15): what is 2^17 times smaller than that still keeps 22 bits.

Tensor cores cut off what does not fit into their sum. So no more than one step of the depth is added up on them,
and those sums are added up in float32 with rounding: a sum of positive terms would drift otherwise.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
import triton
import triton.language as tl

STEP = 64
"""How much of the depth tensor cores add up before the sum leaves them."""


class Halves(NamedTuple):
    """A matrix, or a batch of them, along whose last axis a product sums."""

    hi: torch.Tensor
    """[batch, rows, depth] of float16, contiguous; the depth is filled up with zeros to whole steps."""
    lo: torch.Tensor
    """The same: what `hi` leaves."""
    back: torch.Tensor
    """[batch, rows] of float32: what brings the sum of both back to the matrix's own scale."""


@triton.jit
def power_for(largest):
    exponent = ((largest.to(tl.int32, bitcast=True) >> 23) & 255) - 127
    return tl.minimum(tl.maximum(14 - exponent, -126), 126)


@triton.jit
def two_to(power):
    return ((power + 127) << 23).to(tl.float32, bitcast=True)


@triton.jit
def _split_rows(x_ptr, hi_ptr, lo_ptr, back_ptr, depth, filled, batch_stride, row_stride, rows, BLOCK: tl.constexpr):
    """One program splits one row, whose values lie side by side."""
    row, batch = tl.program_id(0).to(tl.int64), tl.program_id(1).to(tl.int64)
    x_ptr += batch * batch_stride + row * row_stride
    to = (batch * rows + row) * filled
    offsets = tl.arange(0, BLOCK)
    most = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, depth, BLOCK):
        x = tl.load(x_ptr + start + offsets, mask=start + offsets < depth, other=0.0)
        most = tl.maximum(most, tl.abs(x))
    power = power_for(tl.max(most, axis=0))
    tl.store(back_ptr + batch * rows + row, two_to(-power))
    scale = two_to(power)
    for start in range(0, filled, BLOCK):
        x = tl.load(x_ptr + start + offsets, mask=start + offsets < depth, other=0.0) * scale
        inside = start + offsets < filled
        hi = x.to(tl.float16)
        tl.store(hi_ptr + to + start + offsets, hi, mask=inside)
        tl.store(lo_ptr + to + start + offsets, (x - hi.to(tl.float32)).to(tl.float16), mask=inside)


@triton.jit
def _largest_of_columns(x_ptr, most_ptr, depth, rows, batch_stride, depth_stride, BR: tl.constexpr, BD: tl.constexpr):
    """Of each row of a matrix whose rows lie side by side, the largest: its bits order as integers do."""
    batch = tl.program_id(2).to(tl.int64)
    row = tl.program_id(0) * BR + tl.arange(0, BR)
    deep = tl.program_id(1) * BD + tl.arange(0, BD)
    inside = (deep < depth)[:, None] & (row < rows)[None, :]
    at = x_ptr + batch * batch_stride + deep.to(tl.int64)[:, None] * depth_stride + row[None, :]
    most = tl.max(tl.abs(tl.load(at, mask=inside, other=0.0)), axis=0)
    tl.atomic_max(most_ptr + batch * rows + row, most.to(tl.int32, bitcast=True), mask=row < rows)


@triton.jit
def _split_columns(
    x_ptr, hi_ptr, lo_ptr, most_ptr, back_ptr, depth, filled, rows, batch_stride, depth_stride,
    BR: tl.constexpr, BD: tl.constexpr,
):  # fmt: skip
    """One program splits and turns one tile of a matrix whose rows lie side by side."""
    batch = tl.program_id(2).to(tl.int64)
    row = tl.program_id(0) * BR + tl.arange(0, BR)
    deep = tl.program_id(1) * BD + tl.arange(0, BD)
    most = tl.load(most_ptr + batch * rows + row, mask=row < rows, other=0)
    power = power_for(most.to(tl.float32, bitcast=True))
    if tl.program_id(1) == 0:
        tl.store(back_ptr + batch * rows + row, two_to(-power), mask=row < rows)
    at = x_ptr + batch * batch_stride + deep.to(tl.int64)[:, None] * depth_stride + row[None, :]
    x = tl.load(at, mask=(deep < depth)[:, None] & (row < rows)[None, :], other=0.0) * two_to(power)[None, :]
    x = tl.trans(x)
    hi = x.to(tl.float16)
    to = (batch * rows + row.to(tl.int64))[:, None] * filled + deep[None, :]
    tl.store(hi_ptr + to, hi, mask=(row < rows)[:, None])
    tl.store(lo_ptr + to, (x - hi.to(tl.float32)).to(tl.float16), mask=(row < rows)[:, None])


def split(x: torch.Tensor) -> Halves:
    """The halves of a float32 [rows, depth] or [batch, rows, depth]."""
    x = x if x.dim() == 3 else x.unsqueeze(0)
    batches, rows, depth = x.shape
    filled = triton.cdiv(depth, STEP) * STEP
    hi = torch.empty(batches, rows, filled, dtype=torch.float16, device=x.device)
    lo = torch.empty_like(hi)
    back = torch.empty(batches, rows, dtype=torch.float32, device=x.device)
    if x.stride(2) != 1 and x.stride(1) != 1:
        x = x.contiguous()
    if x.stride(2) == 1:
        block = min(4096, triton.next_power_of_2(filled))
        _split_rows[rows, batches](
            x,
            hi,
            lo,
            back,
            depth,
            filled,
            x.stride(0),
            x.stride(1),
            rows,
            BLOCK=block,
            num_warps=max(1, block // 512),
        )
        return Halves(hi, lo, back)
    most = torch.zeros(batches, rows, dtype=torch.int32, device=x.device)
    tall = (triton.cdiv(rows, 128), triton.cdiv(depth, 128), batches)
    strides = (x.stride(0), x.stride(2))
    _largest_of_columns[tall](x, most, depth, rows, *strides, BR=128, BD=128, num_warps=8)
    tiles = (triton.cdiv(rows, STEP), filled // STEP, batches)
    _split_columns[tiles](x, hi, lo, most, back, depth, filled, rows, *strides, BR=STEP, BD=STEP, num_warps=4)
    return Halves(hi, lo, back)


@triton.jit
def as_it_is(value, rows, cols, columns, p0, p1, p2, s0, s1, s2):
    return value


@triton.jit
def plus_bias(value, rows, cols, columns, p0, p1, p2, s0, s1, s2):
    return value + tl.load(p0 + cols)[None, :]


@triton.jit
def _product(
    a_hi_ptr, a_lo_ptr, a_back_ptr, b_hi_ptr, b_lo_ptr, b_back_ptr, out_ptr, rows, columns, depth, chunk, b_batch,
    p0, p1, p2, s0, s1, s2,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, BAND: tl.constexpr,
    TRIANGLE: tl.constexpr, epilogue: tl.constexpr,
):  # fmt: skip
    """One program makes one tile; programs that run together share rows of `a` and columns of `b` in the L2 cache."""
    tile, batch, part_of_depth = tl.program_id(0), tl.program_id(1).to(tl.int64), tl.program_id(2)
    down, across = tl.cdiv(rows, BM), tl.cdiv(columns, BN)
    band = tile // (BAND * across)
    height = tl.minimum(down - band * BAND, BAND)
    m = (band * BAND + tile % (BAND * across) % height) * BM + tl.arange(0, BM)
    n = (tile % (BAND * across) // height) * BN + tl.arange(0, BN)
    row, col = m % rows, n % columns  # no tile reads past the end
    above = (part_of_depth * tl.num_programs(1) + batch) * rows
    to = out_ptr + (above + m.to(tl.int64))[:, None] * columns + n[None, :]
    inside = (m < rows)[:, None] & (n < columns)[None, :]
    last = tl.max(n, axis=0) if TRIANGLE > 0 else tl.max(m, axis=0)
    first = tl.min(m, axis=0) if TRIANGLE > 0 else tl.min(n, axis=0)
    if TRIANGLE != 0 and last < first:
        tl.store(to, tl.zeros((BM, BN), tl.float32), mask=inside)
    else:
        k = tl.arange(0, BK)
        a_at = (batch * rows + row.to(tl.int64))[:, None] * depth + k[None, :]
        b_at = (batch * b_batch + col.to(tl.int64))[None, :] * depth + k[:, None]
        total = tl.zeros((BM, BN), tl.float32)
        begin = part_of_depth * chunk
        for start in range(begin, tl.minimum(begin + chunk, depth), BK):
            a_hi, a_lo = tl.load(a_hi_ptr + a_at + start), tl.load(a_lo_ptr + a_at + start)
            b_hi, b_lo = tl.load(b_hi_ptr + b_at + start), tl.load(b_lo_ptr + b_at + start)
            part = tl.dot(a_hi, b_lo, tl.dot(a_lo, b_hi))
            total += tl.dot(a_hi, b_hi, part)
        total *= tl.load(a_back_ptr + batch * rows + row)[:, None]
        total *= tl.load(b_back_ptr + batch * b_batch + col)[None, :]
        value = epilogue(total, row, col, columns, p0, p1, p2, s0, s1, s2)
        if TRIANGLE > 0:
            value = tl.where(m[:, None] <= n[None, :], value, 0.0)
        if TRIANGLE < 0:
            value = tl.where(m[:, None] >= n[None, :], value, 0.0)
        tl.store(to, value, mask=inside)


@triton.jit
def _add_up(
    parts_ptr, out_ptr, p0, p1, p2, s0, s1, s2, many, count, columns, BLOCK: tl.constexpr, epilogue: tl.constexpr
):
    """The sum of what parts of the depth gave, always in the same order, through the epilogue."""
    col = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    row = tl.program_id(1).to(tl.int64)
    inside = col < columns
    at = row * columns + col
    total = tl.zeros((BLOCK,), tl.float32)
    for part in range(0, many):
        total += tl.load(parts_ptr + part * count + at, mask=inside, other=0.0)
    rows = tl.zeros((1,), tl.int32) + tl.program_id(1)
    value = epilogue(total[None, :], rows, col % columns, columns, p0, p1, p2, s0, s1, s2)
    tl.store(out_ptr + at[None, :], value, mask=inside[None, :])


_MULTIPROCESSORS = 132
"""Of an H100 and an H200; on another GPU the work is shared a little less evenly."""


def product(
    a: Halves,
    b: Halves,
    epilogue: triton.JITFunction = as_it_is,
    tensors: tuple[torch.Tensor, ...] = (),
    numbers: tuple[float, ...] = (),
    triangle: int = 0,
) -> torch.Tensor:
    """[batch, rows, columns]: every row of `a` times every row of `b`, through `epilogue`.

    Args:
        b: of one batch, or of as many as `a`.
        epilogue: takes a tile, its rows and columns, how many columns there are, and up to three tensors and numbers.
        triangle: 1: upper, -1: lower, the rest is zero.
    """
    batches, rows, depth = a.hi.shape
    columns = b.hi.shape[1]
    out = torch.empty(batches, rows, columns, dtype=torch.float32, device=a.hi.device)
    more = (*(*tensors, None, None, None)[:3], *(*numbers, 0.0, 0.0, 0.0)[:3])
    # Small matrices have small tiles: there would be fewer programs than multiprocessors, and mostly padding.
    bm = 128 if rows > 64 else 64
    bn = 128 if columns > 64 else 32
    tiles = triton.cdiv(rows, bm) * triton.cdiv(columns, bn)
    # Where there are few tiles, several programs share the depth of one.
    chunks = max(1, min(_MULTIPROCESSORS // (tiles * batches), depth // 512))
    chunk = triton.cdiv(depth // STEP, chunks) * STEP
    many = triton.cdiv(depth, chunk)
    into = out if many == 1 else torch.empty(many, *out.shape, dtype=torch.float32, device=out.device)
    _product[tiles, batches, many](
        *a, *b, into, rows, columns, depth, chunk, columns if b.hi.shape[0] > 1 else 0,
        *(more if many == 1 else (None, None, None, 0.0, 0.0, 0.0)),
        BM=bm, BN=bn, BK=STEP, BAND=8, TRIANGLE=triangle,
        epilogue=epilogue if many == 1 else as_it_is, num_warps=8 if bm * bn == 128 * 128 else 4, num_stages=3,
    )  # fmt: skip
    if many > 1:
        _add_up[triton.cdiv(columns, 256), batches * rows](
            into, out, *more, many, out.numel(), columns, BLOCK=256, epilogue=epilogue, num_warps=2
        )
    return out
