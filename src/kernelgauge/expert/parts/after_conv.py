"""What follows a convolution and takes windows, or all channels of a position, of what that wrote."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from kernelgauge.expert.parts.channel_norm import Affine


@triton.jit
def each_as_it_is(x, y):
    return y


@triton.jit
def window_only(value, channel, real, p0, p1, s0, s1):
    return value


@triton.jit
def _take_windows(
    x_ptr, y_ptr, middle_ptr, scale_ptr, shift_ptr, p0, p1, s0, s1,
    channels, size, plane, width, high, wide, positions,
    WD: tl.constexpr, WH: tl.constexpr, WW: tl.constexpr, HOW: tl.constexpr, ONE: tl.constexpr,
    BC: tl.constexpr, BP: tl.constexpr, each: tl.constexpr, after: tl.constexpr,
):  # fmt: skip
    """One program takes the windows of some positions, of some channels, of one image."""
    image = tl.program_id(2).to(tl.int64)
    channel = tl.program_id(1) * BC + tl.arange(0, BC)
    at = tl.program_id(0) * BP + tl.arange(0, BP)
    real, there = channel < channels, at < positions
    inside = real[:, None] & there[None, :]
    begin = at // (high * wide) * WD * plane + at // wide % high * WH * width + at % wide * WW
    x_ptr += image * channels * size
    row = image * channels + channel
    if scale_ptr is not None:
        middle = tl.load(middle_ptr + row, mask=real, other=0.0)[:, None]
        scale = tl.load(scale_ptr + row, mask=real, other=0.0)[:, None]
        shift = tl.load(shift_ptr + row, mask=real, other=0.0)[:, None]
    start = float("-inf") if HOW == "max" else (float("inf") if HOW == "min" else 0.0)
    value = tl.full((BC, BP), start, tl.float32)
    for i in range(0, WD * WH * WW):
        step = i // (WH * WW) * plane + i // WW % WH * width + i % WW
        x = tl.load(x_ptr + channel[:, None] * size + (begin + step)[None, :], mask=inside, other=0.0)
        y = x
        if scale_ptr is not None:
            y = (x - middle) * scale + shift
        y = each(x, y)
        if HOW == "max":
            value = tl.maximum(value, y)
        elif HOW == "min":
            value = tl.minimum(value, y)
        else:
            value += y
    if HOW == "mean":
        value *= 1.0 / (WD * WH * WW)
    value = after(value, tl.where(real, channel, 0), real, p0, p1, s0, s1)
    if ONE:
        tl.store(y_ptr + image * positions + at[None, :], value, mask=there[None, :])
    else:
        tl.store(y_ptr + row[:, None] * positions + at[None, :], value, mask=inside)


def take_windows(
    x: torch.Tensor,
    window: tuple[int, ...],
    how: str,
    after: triton.JITFunction = window_only,
    tensors: tuple[torch.Tensor, ...] = (),
    numbers: tuple[float, ...] = (),
    *,
    affine: Affine | None = None,
    each: triton.JITFunction = each_as_it_is,
    whole: bool = False,
    one: bool = False,
) -> torch.Tensor:
    """Of [images, channels, ...], contiguous: the "max", "min" or "mean" of each window, then `after`.

    Args:
        affine: what each value goes through before.
        each: takes the value itself and after `affine`, and gives what is pooled.
        whole: `after` takes all channels of a position, 128 at most.
        one: it leaves one value for all of them.
    """
    images, channels, *sizes = x.shape
    sizes, windows = [1] * (3 - len(sizes)) + sizes, [1] * (3 - len(window)) + list(window)
    pooled = [size // w for size, w in zip(sizes, windows, strict=True)]
    positions = pooled[0] * pooled[1] * pooled[2]
    y = torch.empty(images, 1 if one else channels, *pooled[3 - len(window) :], dtype=torch.float32, device=x.device)
    bc = triton.next_power_of_2(channels) if whole or one else min(8, triton.next_power_of_2(channels))
    bp = max(32, min(256, 4096 // bc))
    _take_windows[triton.cdiv(positions, bp), triton.cdiv(channels, bc), images](
        x, y, *(affine or (None, None, None)), *(*tensors, None, None)[:2], *(*numbers, 0.0, 0.0)[:2],
        channels, sizes[0] * sizes[1] * sizes[2], sizes[1] * sizes[2], sizes[2], pooled[1], pooled[2], positions,
        WD=windows[0], WH=windows[1], WW=windows[2], HOW=how, ONE=one, BC=bc, BP=bp, each=each, after=after,
        num_warps=8 if bc * bp >= 4096 else 4,
    )  # fmt: skip
    return y
