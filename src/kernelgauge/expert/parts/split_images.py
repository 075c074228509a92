"""Images and weights of a convolution as float16 halves: channels last, padding filled in.

As in a product of matrices, `x = hi + lo` holds 22 bits of x. Each image, and each output channel's weights, are
scaled by a power of two, which is exact, so that the largest value lies in [2^14, 2^15).
"""

from __future__ import annotations

from typing import NamedTuple

import torch
import triton
import triton.language as tl

from kernelgauge.expert.parts.conv_plan import Plan
from kernelgauge.expert.parts.powers import power_for, two_to


class ImageHalves(NamedTuple):
    """Images for a plan."""

    hi: torch.Tensor
    """[images, padded depth, height and width, filled] of float16, flat, with the plan's tail of zeros behind."""
    lo: torch.Tensor
    back: torch.Tensor
    """[images] of float32: what brings sums back to the image's own scale."""


class WeightHalves(NamedTuple):
    """Weights for a plan."""

    hi: torch.Tensor
    """[classes, output channels, depth] of float16."""
    lo: torch.Tensor
    back: torch.Tensor
    """[classes, output channels] of float32."""


@triton.jit
def _largest_of_images(x_ptr, most_ptr, size, BLOCK: tl.constexpr, ROUNDS: tl.constexpr):
    """Bits of floats that are not negative order as integers do."""
    image = tl.program_id(1)
    x_ptr += image.to(tl.int64) * size
    start = tl.program_id(0) * BLOCK * ROUNDS
    most = tl.zeros((BLOCK,), tl.float32)
    for turn in range(0, ROUNDS):
        at = start + turn * BLOCK + tl.arange(0, BLOCK)
        most = tl.maximum(most, tl.abs(tl.load(x_ptr + at, mask=at < size, other=0.0)))
    tl.atomic_max(most_ptr + image, tl.max(most, axis=0).to(tl.int32, bitcast=True))


@triton.jit
def _split_images(
    x_ptr, hi_ptr, lo_ptr, most_ptr, back_ptr, channels, depth, height, width,
    padded_d, padded_h, padded_w, margin_d, margin_h, margin_w,
    FILLED: tl.constexpr, BC: tl.constexpr, BP: tl.constexpr,
):  # fmt: skip
    """One program splits and turns some channels of some positions of one padded image."""
    image = tl.program_id(1)
    at = tl.program_id(0) * BP + tl.arange(0, BP)
    channel = tl.program_id(2) * BC + tl.arange(0, BC)
    plane = padded_h * padded_w
    d, h, w = at // plane - margin_d, at // padded_w % padded_h - margin_h, at % padded_w - margin_w
    inside = (d >= 0) & (d < depth) & (h >= 0) & (h < height) & (w >= 0) & (w < width)
    power = power_for(tl.load(most_ptr + image).to(tl.float32, bitcast=True))
    if (tl.program_id(0) == 0) and (tl.program_id(2) == 0):
        tl.store(back_ptr + image, two_to(-power))
    size = depth * height * width
    x_ptr += image.to(tl.int64) * channels * size
    source = channel[:, None] * size + ((d * height + h) * width + w)[None, :]
    x = tl.load(x_ptr + source, mask=(channel < channels)[:, None] & inside[None, :], other=0.0) * two_to(power)
    x = tl.trans(x)
    hi = x.to(tl.float16)
    to = image.to(tl.int64) * padded_d * plane * FILLED
    target = at[:, None] * FILLED + channel[None, :]
    there = (at < padded_d * plane)[:, None] & (channel < FILLED)[None, :]
    tl.store(hi_ptr + to + target, hi, mask=there)
    tl.store(lo_ptr + to + target, (x - hi.to(tl.float32)).to(tl.float16), mask=there)


def split_images(x: torch.Tensor, images: int, channels: int, sizes: tuple[int, int, int], plan: Plan) -> ImageHalves:
    """The halves of float32 `x`, contiguous, seen as [images, channels, depth, height, width]."""
    d, h, w = plan.padded
    count = images * d * h * w * plan.filled
    both = torch.empty(2, triton.cdiv(count + plan.tail, 64) * 64, dtype=torch.float16, device=x.device)
    if plan.tail:
        both[:, count:] = 0.0
    back = torch.empty(images, dtype=torch.float32, device=x.device)
    most = torch.zeros(images, dtype=torch.int32, device=x.device)
    size = x.numel() // images
    _largest_of_images[triton.cdiv(size, 4096 * 8), images](x, most, size, BLOCK=4096, ROUNDS=8, num_warps=8)
    few = min(64, plan.filled & -plan.filled)
    many = max(32, 4096 // few) if few < 64 else 64
    _split_images[triton.cdiv(d * h * w, many), images, plan.filled // few](
        x, both[0], both[1], most, back, channels, *sizes, *plan.padded, *plan.margin,
        FILLED=plan.filled, BC=few, BP=many, num_warps=8,
    )  # fmt: skip
    return ImageHalves(both[0], both[1], back)


@triton.jit
def _split_weights(
    w_ptr, index_ptr, hi_ptr, lo_ptr, back_ptr, depth, rows, columns, group_stride, row_stride, BLOCK: tl.constexpr
):
    """One program gathers and splits what one output channel needs for one class."""
    row, part = tl.program_id(0), tl.program_id(1)
    w_ptr += row // columns * group_stride + row % columns * row_stride
    to = (part * rows + row).to(tl.int64) * depth
    most = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, depth, BLOCK):
        at = start + tl.arange(0, BLOCK)
        index = tl.load(index_ptr + part * depth + at, mask=at < depth, other=-1)
        most = tl.maximum(most, tl.abs(tl.load(w_ptr + index, mask=index >= 0, other=0.0)))
    power = power_for(tl.max(most, axis=0))
    tl.store(back_ptr + part * rows + row, two_to(-power))
    for start in range(0, depth, BLOCK):
        at = start + tl.arange(0, BLOCK)
        index = tl.load(index_ptr + part * depth + at, mask=at < depth, other=-1)
        w = tl.load(w_ptr + index, mask=index >= 0, other=0.0) * two_to(power)
        hi = w.to(tl.float16)
        tl.store(hi_ptr + to + at, hi, mask=at < depth)
        tl.store(lo_ptr + to + at, (w - hi.to(tl.float32)).to(tl.float16), mask=at < depth)


def split_weights(
    weight: torch.Tensor, groups: int, columns: int, strides: tuple[int, int], plan: Plan
) -> WeightHalves:
    """The halves of a convolution's weights, whose groups and output channels have these strides."""
    classes, depth = plan.index.shape
    rows = groups * columns
    hi = torch.empty(classes, rows, depth, dtype=torch.float16, device=weight.device)
    lo = torch.empty_like(hi)
    back = torch.empty(classes, rows, dtype=torch.float32, device=weight.device)
    _split_weights[rows, classes](
        weight, plan.index, hi, lo, back, depth, rows, columns, *strides, BLOCK=1024, num_warps=4
    )
    return WeightHalves(hi, lo, back)
