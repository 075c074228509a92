"""A few rows times a large weight in float32: the weight is read once, and split where it is used.

To split a weight of gigabytes beforehand would write and read it once more. Here its tile becomes two halves in
registers, from where tensor cores take their first operand: so the product is made turned around. Each row of the
tile has a scale of its own for each step of the depth, which is undone as that step's sum is added up.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from kernelgauge.expert.parts.split_gemm import STEP, Halves, power_for, two_to


@triton.jit
def _skinny(
    hi_ptr, lo_ptr, back_ptr, weight_ptr, out_ptr, rows, columns, depth, filled, p0, p1, p2, s0, s1, s2,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, EVEN: tl.constexpr, epilogue: tl.constexpr,
):  # fmt: skip
    n = tl.program_id(0) * BN + tl.arange(0, BN)
    m = tl.program_id(1) * BM + tl.arange(0, BM)
    k = tl.arange(0, BK)
    row, col = m % rows, n % columns
    weight_at = weight_ptr + col.to(tl.int64)[:, None] * depth + k[None, :]
    x_at = row[None, :] * filled + k[:, None]
    total = tl.zeros((BN, BM), tl.float32)
    for start in range(0, depth, BK):
        if EVEN:
            weight = tl.load(weight_at + start)
        else:
            weight = tl.load(weight_at + start, mask=(k < depth - start)[None, :], other=0.0)
        hi, lo = tl.load(hi_ptr + x_at + start), tl.load(lo_ptr + x_at + start)
        power = power_for(tl.max(tl.abs(weight), axis=1))
        weight *= two_to(power)[:, None]
        weight_hi = weight.to(tl.float16)
        weight_lo = (weight - weight_hi.to(tl.float32)).to(tl.float16)
        part = tl.dot(weight_hi, lo, tl.dot(weight_lo, hi))
        total += tl.dot(weight_hi, hi, part) * two_to(-power)[:, None]
    value = tl.trans(total) * tl.load(back_ptr + row)[:, None]
    value = epilogue(value, row, col, columns, p0, p1, p2, s0, s1, s2)
    to = out_ptr + m.to(tl.int64)[:, None] * columns + n[None, :]
    tl.store(to, value, mask=(m < rows)[:, None] & (n < columns)[None, :])


def skinny_product(
    x: Halves,
    weight: torch.Tensor,
    epilogue: triton.JITFunction,
    tensors: tuple[torch.Tensor, ...] = (),
    numbers: tuple[float, ...] = (),
) -> torch.Tensor:
    """[1, rows, columns]: each row of `x` times each row of `weight`, [columns, depth], through `epilogue`."""
    _, rows, filled = x.hi.shape
    columns, depth = weight.shape
    out = torch.empty(1, rows, columns, dtype=torch.float32, device=weight.device)
    more = (*(*tensors, None, None, None)[:3], *(*numbers, 0.0, 0.0, 0.0)[:3])
    bm = 128 if rows > 64 else 64
    _skinny[triton.cdiv(columns, 128), triton.cdiv(rows, bm)](
        *x, weight.contiguous(), out, rows, columns, depth, filled, *more,
        BM=bm, BN=128, BK=STEP, EVEN=depth % STEP == 0, epilogue=epilogue, num_warps=8, num_stages=3,
    )  # fmt: skip
    return out
