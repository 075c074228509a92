"""The sum over the outputs of a linear layer: by algebra a product with one vector, the sum of the weights.

`sum_n (x . w_n + b_n) = x . (sum_n w_n) + sum_n b_n`. The weights are read once; additions are in another order
than the reference's, in float32 as they are.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl


@triton.jit
def _sum_of_rows(x_ptr, parts_ptr, rows, columns, each, ROWS: tl.constexpr, COLS: tl.constexpr):
    """One program adds up some rows of some columns."""
    col = tl.program_id(0) * COLS + tl.arange(0, COLS)
    first = tl.program_id(1) * each
    down = tl.arange(0, ROWS)
    total = tl.zeros((ROWS, COLS), tl.float32)
    for start in range(first, first + each, ROWS):
        inside = (start + down < tl.minimum(first + each, rows))[:, None] & (col < columns)[None, :]
        at = (start + down).to(tl.int64)[:, None] * columns + col[None, :]
        total += tl.load(x_ptr + at, mask=inside, other=0.0)
    tl.store(parts_ptr + tl.program_id(1) * columns + col, tl.sum(total, axis=0), mask=col < columns)


@triton.jit
def _times_vector(
    x_ptr, parts_ptr, bias_ptr, y_ptr, depth, outputs, many, s0, s1,
    BLOCK: tl.constexpr, BIAS: tl.constexpr, SPREAD: tl.constexpr, after: tl.constexpr,
):  # fmt: skip
    """One program takes one row; with `SPREAD` it adds what it found to each value of its row."""
    row = tl.program_id(0).to(tl.int64)
    offsets = tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, depth, BLOCK):
        inside = start + offsets < depth
        x = tl.load(x_ptr + row * depth + start + offsets, mask=inside, other=0.0)
        vector = tl.zeros((BLOCK,), tl.float32)
        for part in range(0, many):
            vector += tl.load(parts_ptr + part * depth + start + offsets, mask=inside, other=0.0)
        total += x * vector
    found = tl.sum(total, axis=0)
    if BIAS:
        more = tl.zeros((BLOCK,), tl.float32)
        for start in range(0, outputs, BLOCK):
            more += tl.load(bias_ptr + start + offsets, mask=start + offsets < outputs, other=0.0)
        found += tl.sum(more, axis=0)
    found = after(found, s0, s1)
    if SPREAD:
        for start in range(0, depth, BLOCK):
            inside = start + offsets < depth
            x = tl.load(x_ptr + row * depth + start + offsets, mask=inside, other=0.0)
            tl.store(y_ptr + row * depth + start + offsets, x + found, mask=inside)
    else:
        tl.store(y_ptr + row, found)


def summed_linear(
    x: torch.Tensor,
    weight: torch.Tensor,
    bias: torch.Tensor | None,
    after: triton.JITFunction,
    numbers: tuple[float, ...] = (),
    spread: bool = False,
) -> torch.Tensor:
    """[rows, 1]: the sum over all outputs of a linear layer, through `after`; or that added to `x` itself."""
    x, weight = x.contiguous(), weight.contiguous()
    outputs, depth = weight.shape
    parts = 8
    sums = torch.empty(parts, depth, dtype=torch.float32, device=x.device)
    each = triton.cdiv(outputs, parts)
    _sum_of_rows[triton.cdiv(depth, 128), parts](weight, sums, outputs, depth, each, ROWS=16, COLS=128, num_warps=4)
    y = torch.empty_like(x) if spread else torch.empty(x.shape[0], 1, dtype=x.dtype, device=x.device)
    s0, s1 = (*numbers, 0.0, 0.0)[:2]
    block = min(2048, triton.next_power_of_2(depth))
    _times_vector[(x.shape[0],)](
        x, sums, bias, y, depth, outputs, parts, s0, s1,
        BLOCK=block, BIAS=bias is not None, SPREAD=spread, after=after, num_warps=4,
    )  # fmt: skip
    return y
