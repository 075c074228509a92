"""Pointwise convolutions of float32 on tensor cores, and depthwise-separable ones: the input is split on its way in.

All channels of a position fit into one tile, so that there is no pass of its own over the input: a tile is read as it
lies, positions side by side, convolved channel by channel on CUDA cores where there is a depthwise part, and split
into float16 halves (`parts/split_conv.py` tells why three products of these are as precise as float32). Each position
is scaled by its own power of two, which is exact.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from kernelgauge.expert.parts.powers import power_for, two_to


@triton.jit
def _mix_channels(
    x_ptr, weight_ptr, bias_ptr, taps_ptr, taps_bias_ptr, out_ptr,
    columns, channels, height, width, out_height, out_width,
    KERNEL_H: tl.constexpr, KERNEL_W: tl.constexpr, STRIDE: tl.constexpr, PADDING: tl.constexpr,
    DILATION: tl.constexpr, DEPTHWISE: tl.constexpr, BC: tl.constexpr, BM: tl.constexpr, BP: tl.constexpr,
):  # fmt: skip
    """One program makes some output channels of some positions of one image."""
    image = tl.program_id(1).to(tl.int64)
    size = out_height * out_width
    across = tl.cdiv(columns, BM)
    m = tl.program_id(0) % across * BM + tl.arange(0, BM)
    at = tl.program_id(0) // across * BP + tl.arange(0, BP)
    c = tl.arange(0, BC)
    channel, inside = (c < channels)[:, None], (at < size)[None, :]
    x_ptr += image * channels * height * width
    if DEPTHWISE:
        x = tl.zeros((BC, BP), tl.float32)
        top, left = at // out_width * STRIDE - PADDING, at % out_width * STRIDE - PADDING
        for i in tl.static_range(KERNEL_H):
            for j in tl.static_range(KERNEL_W):
                h, w = top + i * DILATION, left + j * DILATION
                there = (h >= 0) & (h < height) & (w >= 0) & (w < width)
                from_ = x_ptr + c[:, None] * (height * width) + (h * width + w)[None, :]
                value = tl.load(from_, mask=channel & inside & there[None, :], other=0.0)
                tap = tl.load(taps_ptr + c * (KERNEL_H * KERNEL_W) + i * KERNEL_W + j, mask=c < channels, other=0.0)
                x += value * tap[:, None]
        if taps_bias_ptr is not None:
            x += tl.load(taps_bias_ptr + c, mask=c < channels, other=0.0)[:, None]
    else:
        x = tl.load(x_ptr + c[:, None] * size + at[None, :], mask=channel & inside, other=0.0)
    power = power_for(tl.max(tl.abs(x), axis=0))
    x *= two_to(power)[None, :]
    x_hi = x.to(tl.float16)
    x_lo = (x - x_hi.to(tl.float32)).to(tl.float16)
    w = tl.load(
        weight_ptr + m[:, None] * channels + c[None, :], mask=(m < columns)[:, None] & (c < channels), other=0.0
    )
    lift = power_for(tl.max(tl.abs(w), axis=1))
    w *= two_to(lift)[:, None]
    w_hi = w.to(tl.float16)
    w_lo = (w - w_hi.to(tl.float32)).to(tl.float16)
    value = tl.dot(w_hi, x_hi, tl.dot(w_lo, x_hi, tl.dot(w_hi, x_lo)))
    value *= two_to(-lift)[:, None]
    value *= two_to(-power)[None, :]
    if bias_ptr is not None:
        value += tl.load(bias_ptr + m, mask=m < columns, other=0.0)[:, None]
    out_ptr += image * columns * size
    tl.store(out_ptr + m[:, None] * size + at[None, :], value, mask=(m < columns)[:, None] & inside)


def mix_channels(x: torch.Tensor, conv: torch.nn.Conv2d, depthwise: torch.nn.Conv2d | None = None) -> torch.Tensor:
    """Of float32 [images, channels, height, width], at most 128 channels: by a 1x1 `conv`, after `depthwise`.

    Args:
        depthwise: of as many channels out as in, with equal stride, padding and dilation in both dimensions.
    """
    x = x.contiguous()
    images, channels, height, width = x.shape
    first = conv if depthwise is None else depthwise
    kernel, stride, padding, dilation = first.kernel_size, first.stride[0], first.padding[0], first.dilation[0]
    high, wide = (
        (size + 2 * padding - dilation * (k - 1) - 1) // stride + 1
        for size, k in zip((height, width), kernel, strict=True)
    )
    columns = conv.out_channels
    out = torch.empty(images, columns, high, wide, dtype=torch.float32, device=x.device)
    taps, taps_bias = (None, None) if depthwise is None else (depthwise.weight, depthwise.bias)
    bm = min(128, max(16, triton.next_power_of_2(columns)))
    bp = 128 if depthwise is None else 64  # what a thread holds must fit into its registers
    _mix_channels[triton.cdiv(columns, bm) * triton.cdiv(high * wide, bp), images](
        x, conv.weight, conv.bias, taps, taps_bias, out, columns, channels, height, width, high, wide,
        KERNEL_H=kernel[0], KERNEL_W=kernel[1], STRIDE=stride, PADDING=padding, DILATION=dilation,
        DEPTHWISE=depthwise is not None, BC=max(16, triton.next_power_of_2(channels)), BM=bm, BP=bp, num_warps=8,
    )  # fmt: skip
    return out
