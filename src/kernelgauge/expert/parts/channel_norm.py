"""Normalisations after a convolution, from statistics that its tiles leave, so that its output is read once.

Means and sums of squares about them are put together as Chan, Golub and LeVeque do ("Algorithms for computing the
sample variance", 1983): no difference of large numbers.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
import triton
import triton.language as tl


class Spread(NamedTuple):
    """Of each channel of each image."""

    mean: torch.Tensor
    """[images, channels] of float32."""
    squares: torch.Tensor
    """[images, channels]: the sum of squares of distances from the mean."""
    count: torch.Tensor
    """[] of float32: values of one channel of one image."""


class Affine(NamedTuple):
    """(x - middle) * scale + shift, each [images, channels]."""

    middle: torch.Tensor
    scale: torch.Tensor
    shift: torch.Tensor


@triton.jit
def _put_together(
    stats_ptr, mean_ptr, squares_ptr, count_ptr, tiles, columns, plane, BT: tl.constexpr, BC: tl.constexpr
):
    """One program takes some channels of one image."""
    image = tl.program_id(0)
    col = tl.program_id(1) * BC + tl.arange(0, BC)
    tile = tl.arange(0, BT)
    stats_ptr += image.to(tl.int64) * tiles * columns
    total, number = tl.zeros((BC,), tl.float32), tl.zeros((BC,), tl.float32)
    for start in range(0, tiles, BT):
        at = (start + tile)[:, None] * columns + col[None, :]
        inside = (start + tile < tiles)[:, None] & (col < columns)[None, :]
        count = tl.load(stats_ptr + 2 * plane + at, mask=inside, other=0.0)
        total += tl.sum(tl.load(stats_ptr + at, mask=inside, other=0.0) * count, axis=0)
        number += tl.sum(count, axis=0)
    mean = total / tl.maximum(number, 1.0)
    squares = tl.zeros((BC,), tl.float32)
    for start in range(0, tiles, BT):
        at = (start + tile)[:, None] * columns + col[None, :]
        inside = (start + tile < tiles)[:, None] & (col < columns)[None, :]
        count = tl.load(stats_ptr + 2 * plane + at, mask=inside, other=0.0)
        away = tl.load(stats_ptr + at, mask=inside, other=0.0) - mean[None, :]
        squares += tl.sum(tl.load(stats_ptr + plane + at, mask=inside, other=0.0) + count * away * away, axis=0)
    tl.store(mean_ptr + image * columns + col, mean, mask=col < columns)
    tl.store(squares_ptr + image * columns + col, squares, mask=col < columns)
    tl.store(count_ptr + col, number, mask=col < 1)  # the same in all programs


def spread_of(stats: torch.Tensor) -> Spread:
    """Of what `convolve` leaves of its tiles."""
    _, images, tiles, columns = stats.shape
    mean, squares = torch.empty(2, images, columns, dtype=torch.float32, device=stats.device)
    count = torch.empty((), dtype=torch.float32, device=stats.device)
    _put_together[images, triton.cdiv(columns, 16)](
        stats, mean, squares, count, tiles, columns, images * tiles * columns, BT=64, BC=16, num_warps=4
    )
    return Spread(mean, squares, count)


@triton.jit
def _spread_of_rows(x_ptr, mean_ptr, squares_ptr, size, BLOCK: tl.constexpr):
    """One program takes a row, twice."""
    row = tl.program_id(0).to(tl.int64)
    at = tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, size, BLOCK):
        total += tl.load(x_ptr + row * size + start + at, mask=start + at < size, other=0.0)
    mean = tl.sum(total, axis=0) / size
    squares = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, size, BLOCK):
        x = tl.load(x_ptr + row * size + start + at, mask=start + at < size, other=0.0)
        away = tl.where(start + at < size, x - mean, 0.0)
        squares += away * away
    tl.store(mean_ptr + row, mean)
    tl.store(squares_ptr + row, tl.sum(squares, axis=0))


def spread_of_images(x: torch.Tensor) -> Spread:
    """Of [images, channels, ...], contiguous, itself."""
    mean, squares = torch.empty(2, *x.shape[:2], dtype=torch.float32, device=x.device)
    size = x.numel() // mean.numel()
    block = min(2048, triton.next_power_of_2(size))
    _spread_of_rows[(mean.numel(),)](x, mean, squares, size, BLOCK=block, num_warps=max(1, block // 512))
    return Spread(mean, squares, torch.full((), float(size), device=x.device))


def by_group(
    spread: Spread, groups: int, eps: float, weight: torch.Tensor | None, bias: torch.Tensor | None
) -> Affine:
    """Of a group normalisation; as many groups as channels make an instance normalisation."""
    images, channels = spread.mean.shape
    mean = spread.mean.view(images, groups, -1)
    middle = mean.mean(2, keepdim=True)
    within = spread.squares.view(images, groups, -1) + spread.count * (mean - middle).square()
    scale = (within.mean(2, keepdim=True) / spread.count + eps).rsqrt().expand_as(mean).reshape(images, channels)
    shift = torch.zeros_like(scale) if bias is None else bias.expand_as(scale).contiguous()
    middle = middle.expand_as(mean).reshape(images, channels)
    return Affine(middle, scale if weight is None else scale * weight, shift)


def by_batch(spread: Spread, norm: torch.nn.modules.batchnorm._BatchNorm) -> Affine:
    """Of a batch normalisation in training mode, whose running statistics are brought up to date."""
    images = spread.mean.shape[0]
    middle = spread.mean.mean(0)
    squares = (spread.squares + spread.count * (spread.mean - middle).square()).sum(0)
    number = images * spread.count
    with torch.no_grad():
        norm.num_batches_tracked += 1
        norm.running_mean.lerp_(middle, norm.momentum)
        norm.running_var.lerp_(squares / (number - 1), norm.momentum)
    scale = norm.weight * (squares / number + norm.eps).rsqrt()
    return Affine(*(each.expand_as(spread.mean).contiguous() for each in (middle, scale, norm.bias)))


@triton.jit
def nothing_more(y, channel, p0, s0, s1):
    return y


@triton.jit
def _apply(
    x_ptr,
    y_ptr,
    middle_ptr,
    scale_ptr,
    shift_ptr,
    p0,
    s0,
    s1,
    size,
    columns,
    BLOCK: tl.constexpr,
    after: tl.constexpr,
):
    row = tl.program_id(0).to(tl.int64)
    at = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * size + at, mask=at < size, other=0.0)
    y = (x - tl.load(middle_ptr + row)) * tl.load(scale_ptr + row) + tl.load(shift_ptr + row)
    tl.store(y_ptr + row * size + at, after(y, tl.program_id(0) % columns, p0, s0, s1), mask=at < size)


def apply(
    x: torch.Tensor,
    affine: Affine,
    after: triton.JITFunction = nothing_more,
    tensor: torch.Tensor | None = None,
    numbers: tuple[float, ...] = (),
) -> torch.Tensor:
    """Of [images, channels, ...], in place: `x` is an intermediate that nobody else sees. Then `after`."""
    rows = x.shape[0] * x.shape[1]
    size = x.numel() // rows
    block = min(4096, triton.next_power_of_2(size))
    _apply[rows, triton.cdiv(size, block)](
        x,
        x,
        *affine,
        tensor,
        *(*numbers, 0.0, 0.0)[:2],
        size,
        x.shape[1],
        BLOCK=block,
        after=after,
        num_warps=max(1, block // 512),
    )
    return x
