"""Layer normalisation over the width of images, and the mean of windows of what it leaves."""

from __future__ import annotations

import torch
import triton
import triton.language as tl


@triton.jit
def _normalise_lines(
    x_ptr, y_ptr, weight_ptr, bias_ptr, s0, rows, deep, high, depth, height, width, eps,
    WD: tl.constexpr, WH: tl.constexpr, WW: tl.constexpr, BR: tl.constexpr, BW: tl.constexpr, after: tl.constexpr,
):  # fmt: skip
    """One program makes some pooled lines; WD planes and WH lines of the input make one."""
    row = tl.program_id(0) * BR + tl.arange(0, BR)
    at = tl.arange(0, BW)
    inside = (row < rows)[:, None] & (at < width)[None, :]
    weight, bias = (
        tl.load(weight_ptr + at, mask=at < width, other=0.0),
        tl.load(bias_ptr + at, mask=at < width, other=0.0),
    )
    image, d, h = row // (deep * high), row // high % deep * WD, row % high * WH
    total = tl.zeros((BR, BW), tl.float32)
    for i in tl.static_range(WD * WH):
        line = (image.to(tl.int64) * depth + d + i // WH) * height + h + i % WH
        x = tl.load(x_ptr + line[:, None] * width + at[None, :], mask=inside, other=0.0)
        mean = tl.sum(x, axis=1) / width
        away = tl.where(inside, x - mean[:, None], 0.0)
        scale = 1.0 / tl.sqrt(tl.sum(away * away, axis=1) / width + eps)
        total += away * scale[:, None] * weight[None, :] + bias[None, :]
    value = tl.sum(tl.reshape(total, (BR, BW // WW, WW)), axis=2) * (1.0 / (WD * WH * WW))
    to = tl.arange(0, BW // WW)
    wide = width // WW
    there = (row < rows)[:, None] & (to < wide)[None, :]
    tl.store(y_ptr + row.to(tl.int64)[:, None] * wide + to[None, :], after(value, s0), mask=there)


def width_norm(
    x: torch.Tensor,
    norm: torch.nn.LayerNorm,
    after: triton.JITFunction,
    number: float = 1.0,
    window: tuple[int, int, int] = (1, 1, 1),
) -> torch.Tensor:
    """Of [images, channels, depth, height, width], contiguous: `norm` over the width, the mean of windows, `after`.

    Args:
        window: its width is a power of two.
    """
    images, channels, depth, height, width = x.shape
    deep, high, wide = depth // window[0], height // window[1], width // window[2]
    y = torch.empty(images, channels, deep, high, wide, dtype=torch.float32, device=x.device)
    rows = images * channels * deep * high
    bw = triton.next_power_of_2(width)
    br = max(1, 2048 // bw)
    _normalise_lines[(triton.cdiv(rows, br),)](
        x, y, norm.weight, norm.bias, number, rows, deep, high, depth, height, width, norm.eps,
        WD=window[0], WH=window[1], WW=window[2], BR=br, BW=bw, after=after, num_warps=4,
    )  # fmt: skip
    return y
