"""Products of float32 matrices that are split where they are used: no pass over the operands beforehand."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from kernelgauge.expert.parts.powers import power_for, two_to


@triton.jit
def _product(
    a_ptr, b_ptr, out_ptr, rows, columns, depth, chunk, a_row, b_col, b_deep,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, BAND: tl.constexpr, EVEN: tl.constexpr,
):  # fmt: skip
    tile, part_of_depth = tl.program_id(0), tl.program_id(1)
    down, across = tl.cdiv(rows, BM), tl.cdiv(columns, BN)
    band = tile // (BAND * across)
    height = tl.minimum(down - band * BAND, BAND)
    m = (band * BAND + tile % (BAND * across) % height) * BM + tl.arange(0, BM)
    n = (tile % (BAND * across) // height) * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    begin = part_of_depth.to(tl.int64) * chunk
    a_at = a_ptr + (m % rows).to(tl.int64)[:, None] * a_row + begin + k[None, :]
    b_at = b_ptr + (n % columns).to(tl.int64)[None, :] * b_col + (begin + k)[:, None] * b_deep
    total = tl.zeros((BM, BN), tl.float32)
    left = tl.minimum(chunk, depth - begin).to(tl.int32)
    for start in range(0, left, BK):
        if EVEN:
            a, b = tl.load(a_at), tl.load(b_at)
        else:
            a = tl.load(a_at, mask=(k < left - start)[None, :], other=0.0)
            b = tl.load(b_at, mask=(k < left - start)[:, None], other=0.0)
        a_at += BK
        b_at += BK * b_deep
        a_power, b_power = power_for(tl.max(tl.abs(a), axis=1)), power_for(tl.max(tl.abs(b), axis=0))
        a *= two_to(a_power)[:, None]
        b *= two_to(b_power)[None, :]
        a_hi, b_hi = a.to(tl.float16), b.to(tl.float16)
        a_lo, b_lo = (a - a_hi.to(tl.float32)).to(tl.float16), (b - b_hi.to(tl.float32)).to(tl.float16)
        part = tl.dot(a_hi, b_hi, tl.dot(a_hi, b_lo, tl.dot(a_lo, b_hi)))
        total += part * two_to(-a_power)[:, None] * two_to(-b_power)[None, :]
    to = out_ptr + (part_of_depth.to(tl.int64) * rows + m)[:, None] * columns + n[None, :]
    tl.store(to, total, mask=(m < rows)[:, None] & (n < columns)[None, :])


@triton.jit
def _add_up(parts_ptr, out_ptr, many, count, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), tl.float32)
    for part in range(0, many):
        total += tl.load(parts_ptr + part * count + at, mask=at < count, other=0.0)
    tl.store(out_ptr + at, total, mask=at < count)


BM, BN, BK, STAGES, WARPS = 128, 128, 64, 2, 8
_MULTIPROCESSORS = 132
"""Of an H100 and an H200; on another GPU the work is shared a little less evenly."""


def product(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """[rows, columns]: `a`, [rows, depth], times `b`, [depth, columns]; programs share the depth of a tile."""
    a = a if a.stride(1) == 1 else a.contiguous()
    (rows, depth), columns = a.shape, b.shape[1]
    tiles = triton.cdiv(rows, BM) * triton.cdiv(columns, BN)
    chunks = max(1, min(_MULTIPROCESSORS // tiles, depth // 512))
    chunk = triton.cdiv(triton.cdiv(depth, BK), chunks) * BK
    many = triton.cdiv(depth, chunk)
    out = torch.empty(rows, columns, dtype=torch.float32, device=a.device)
    into = out if many == 1 else torch.empty(many, rows, columns, dtype=torch.float32, device=a.device)
    _product[tiles, many](
        a, b, into, rows, columns, depth, chunk, a.stride(0), b.stride(1), b.stride(0),
        BM=BM, BN=BN, BK=BK, BAND=8, EVEN=depth % BK == 0, num_warps=WARPS, num_stages=STAGES,
    )  # fmt: skip
    if many > 1:
        _add_up[triton.cdiv(out.numel(), 512),](into, out, many, out.numel(), BLOCK=512, num_warps=4)
    return out
