"""Depthwise convolutions: each program makes a tile of one plane, and finds what its taps share in the L1 cache."""

from __future__ import annotations

import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def depthwise(
    x_ptr, weight_ptr, bias_ptr, y_ptr, channels, height, width, out_height, out_width,
    KH: tl.constexpr, KW: tl.constexpr, SH: tl.constexpr, SW: tl.constexpr, PH: tl.constexpr, PW: tl.constexpr,
    DH: tl.constexpr, DW: tl.constexpr, ROWS: tl.constexpr, COLS: tl.constexpr, BIAS: tl.constexpr,
):  # fmt: skip
    plane = tl.program_id(2).to(tl.int64)
    channel = (plane % channels).to(tl.int32)
    row = tl.program_id(1) * ROWS + tl.arange(0, ROWS)
    col = tl.program_id(0) * COLS + tl.arange(0, COLS)
    total = tl.zeros((ROWS, COLS), tl.float32)
    for i in tl.static_range(KH):
        down = row * SH - PH + i * DH
        for j in tl.static_range(KW):
            across = col * SW - PW + j * DW
            inside = ((down >= 0) & (down < height))[:, None] & ((across >= 0) & (across < width))[None, :]
            x = tl.load(
                x_ptr + plane * height * width + down[:, None] * width + across[None, :], mask=inside, other=0.0
            )
            total += x * tl.load(weight_ptr + (channel * KH + i) * KW + j)
    if BIAS:
        total += tl.load(bias_ptr + channel)
    inside = (row < out_height)[:, None] & (col < out_width)[None, :]
    tl.store(y_ptr + plane * out_height * out_width + row[:, None] * out_width + col[None, :], total, mask=inside)


def convolved(x: torch.Tensor, conv: nn.Conv2d) -> torch.Tensor:
    """One filter for each channel."""
    x = x.contiguous()
    batch, channels, height, width = x.shape
    (kh, kw), (sh, sw), (ph, pw), (dh, dw) = conv.kernel_size, conv.stride, conv.padding, conv.dilation
    out_height = (height + 2 * ph - dh * (kh - 1) - 1) // sh + 1
    out_width = (width + 2 * pw - dw * (kw - 1) - 1) // sw + 1
    y = torch.empty(batch, channels, out_height, out_width, dtype=x.dtype, device=x.device)
    grid = (triton.cdiv(out_width, 128), triton.cdiv(out_height, 16), batch * channels)
    depthwise[grid](
        x, conv.weight, conv.bias, y, channels, height, width, out_height, out_width,
        KH=kh, KW=kw, SH=sh, SW=sw, PH=ph, PW=pw, DH=dh, DW=dw, ROWS=16, COLS=128, BIAS=conv.bias is not None,
        num_warps=4,
    )  # fmt: skip
    return y
