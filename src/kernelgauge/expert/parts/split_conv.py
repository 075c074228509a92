"""Convolutions of float32 on tensor cores, as precise as float32: implicit products of matrices of float16 halves.

Rows are output positions of one image, columns output channels, and the depth all that an output reads: positions of
the kernel times channels. Three products of halves stand for one of float32, as for matrices (Ootomo and Yokota,
2022, "Recovering single precision accuracy from Tensor Cores"), and no more than one step of the depth is added up on
tensor cores, which cut off what does not fit; those sums are added up in float32 with rounding.

The padding lies in memory, so that the loop over the depth has no masks: what a step reads is a row's own place plus
an offset that all rows share. Tiles are turned before they are stored, positions side by side.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from kernelgauge.expert.parts.conv_plan import TABLE, Axis, plan
from kernelgauge.expert.parts.split_images import split_images, split_weights


@triton.jit
def conv_only(value, col, real, above, at, inside, p0, p1, p2, s0, s1, s2):
    return value


@triton.jit
def conv_bias(value, col, real, above, at, inside, p0, p1, p2, s0, s1, s2):
    return value + tl.load(p0 + col)[:, None]


@triton.jit
def _tile_statistics(value, good, stats_ptr, to, n, columns, plane):
    """Of each channel of a tile: the mean, the sum of squares of distances from it, and how many there are."""
    count = tl.sum(good.to(tl.float32), axis=1)
    mean = tl.sum(tl.where(good, value, 0.0), axis=1) / tl.maximum(count, 1.0)
    away = tl.where(good, value - mean[:, None], 0.0)
    tl.store(stats_ptr + to + n, mean, mask=n < columns)
    tl.store(stats_ptr + plane + to + n, tl.sum(away * away, axis=1), mask=n < columns)
    tl.store(stats_ptr + 2 * plane + to + n, count, mask=n < columns)


@triton.jit
def _convolve(
    x_hi_ptr, x_lo_ptr, x_back_ptr, w_hi_ptr, w_lo_ptr, w_back_ptr, out_ptr, stats_ptr, table_ptr,
    p0, p1, p2, s0, s1, s2,
    image_size, depth, columns, groups, classes, positions, statistics_plane,
    tap_d, tap_h, tap_w, read_d, read_h, read_w, write_d, write_h, write_w,
    FILLED: tl.constexpr, UNIT: tl.constexpr, WD: tl.constexpr, WH: tl.constexpr, WW: tl.constexpr, ONE: tl.constexpr,
    STATISTICS: tl.constexpr, STORED: tl.constexpr, ROW: tl.constexpr, DENSE: tl.constexpr,
    LINES: tl.constexpr, ACROSS: tl.constexpr,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, epilogue: tl.constexpr,
):  # fmt: skip
    """One program makes one tile of one image; those that run together write and read in the same places."""
    across = tl.cdiv(columns, BN)
    block = tl.program_id(0)
    n = block % across * BN + tl.arange(0, BN)
    part = block // across % classes
    tile = block // across // classes
    image = tl.program_id(1).to(tl.int64)
    table_ptr += part * ROW
    many = tl.load(table_ptr + 8)
    if tile * BM < many:
        if LINES > 0:
            lines, across_line = LINES, ACROSS
        else:
            lines, across_line = tl.load(table_ptr), tl.load(table_ptr + 1)
        end = tl.load(table_ptr + 2)
        high, wide = tl.load(table_ptr + 6), tl.load(table_ptr + 7)
        m = tile * BM + tl.arange(0, BM)
        row, col = m % many, n % columns  # no tile reads past the end
        pooled, within = row // (WD * WH * WW), row % (WD * WH * WW)
        d = pooled // (high * wide) * WD + within // (WH * WW)
        h = pooled // wide % high * WH + within // WW % WH
        w = pooled % wide * WW + within % WW
        group = tl.program_id(1) % groups
        place = tl.load(table_ptr + 3) + d * read_d + h * read_h + w * read_w
        x_hi_ptr += image * image_size * FILLED
        x_lo_ptr += image * image_size * FILLED
        x_at = (place * FILLED)[:, None]
        channel = group * columns + col
        w_at = ((part * groups * columns + channel) * depth)[None, :]
        k = tl.arange(0, BK)
        total = tl.zeros((BM, BN), tl.float32)
        for start in range(0, end, BK):
            if UNIT % BK == 0:
                stretch = start // UNIT
                along, line = stretch % across_line, stretch // across_line
                to = (line // lines * tap_d + line % lines * tap_h + along * tap_w) * FILLED + (
                    start - stretch * UNIT
                )
                offset = to + k
            else:
                stretch = (start + k) // UNIT
                along, line = stretch % across_line, stretch // across_line
                to = (line // lines * tap_d + line % lines * tap_h + along * tap_w) * FILLED
                offset = to + (start + k) % UNIT
            x_hi, x_lo = tl.load(x_hi_ptr + x_at + offset[None, :]), tl.load(x_lo_ptr + x_at + offset[None, :])
            w_hi = tl.load(w_hi_ptr + w_at + (start + k)[:, None])
            w_lo = tl.load(w_lo_ptr + w_at + (start + k)[:, None])
            sums = tl.dot(x_hi, w_lo, tl.dot(x_lo, w_hi))
            total += tl.dot(x_hi, w_hi, sums)
        total *= tl.load(x_back_ptr + image)
        total *= tl.load(w_back_ptr + part * groups * columns + channel)[None, :]
        value = tl.trans(total)
        m = tile * (BM // (WD * WH * WW)) + tl.arange(0, BM // (WD * WH * WW))
        spots = many // (WD * WH * WW)
        to = m
        if not DENSE:
            d, h, w = m // (high * wide), m // wide % high, m % wide
            to = tl.load(table_ptr + 4) + d * write_d + h * write_h + w * write_w
        real = n < columns
        there = m < spots
        inside = real[:, None] & there[None, :]
        above = image * columns * positions
        at = n[:, None] * positions + to[None, :]
        value = epilogue(value, channel, real, above, at, inside, p0, p1, p2, s0, s1, s2)
        if STATISTICS:
            below = (image * (tl.num_programs(0) // across) + block // across) * columns
            _tile_statistics(value, inside, stats_ptr, below, n, columns, statistics_plane)
        if STORED:
            if ONE:
                tl.store(out_ptr + image * positions + to[None, :], value, mask=there[None, :])
            else:
                tl.store(out_ptr + above + at, value, mask=inside)


_Convolution = torch.nn.modules.conv._ConvNd


def _axes(x: torch.Tensor, conv: _Convolution, window: tuple[int, ...]) -> tuple[Axis, Axis, Axis]:
    """The three dimensions of a convolution, with as many of size 1 before its own as are missing."""
    missing = 3 - len(conv.kernel_size)
    found = [Axis(1, 1, 1, 0, 1, 1, False)] * missing
    for i, kernel in enumerate(conv.kernel_size):
        size, stride, padding, dilation = x.shape[2 + i], conv.stride[i], conv.padding[i], conv.dilation[i]
        reach = dilation * (kernel - 1)
        if conv.transposed:
            out = (size - 1) * stride - 2 * padding + reach + conv.output_padding[i] + 1
        else:
            out = (size + 2 * padding - reach - 1) // stride + 1
        pool = window[i] if window else 1
        found.append(Axis(size, kernel, stride, padding, dilation, out, conv.transposed, pool))
    return found[0], found[1], found[2]


def convolve(
    x: torch.Tensor,
    conv: _Convolution,
    epilogue: triton.JITFunction | None = None,
    tensors: tuple[torch.Tensor, ...] = (),
    numbers: tuple[float, ...] = (),
    *,
    window: tuple[int, ...] = (),
    one: bool = False,
    whole: bool = False,
    statistics: bool = False,
    stored: bool = True,
) -> torch.Tensor | tuple[torch.Tensor | None, torch.Tensor]:
    """What the module `conv` makes of float32 `x`, through `epilogue`: by default its own bias.

    Args:
        epilogue: takes a tile [channels, positions], its channels, which are real, where it goes in the output
            and what of it lies inside, and up to three tensors and numbers.
        window: outputs that the epilogue pools, in each dimension; they lie side by side along the tile's positions.
            Their number is a power of two; not of a transposed convolution.
        one: the epilogue leaves one value for each position, of all channels.
        whole: the epilogue must have all channels of a group, 128 at most, in one tile.
        statistics: give [3, images, tiles, channels] as well: mean, sum of squares about it, and count, of each tile.
        stored: without, there is no output but the statistics.
    """
    x = x.contiguous()
    axes = _axes(x, conv, window)
    groups = conv.groups
    channels, columns = conv.in_channels // groups, conv.out_channels // groups
    taps = conv.weight[0, 0].numel()
    channel_stride = columns * taps if conv.transposed else taps
    row_stride = taps if conv.transposed else channels * taps
    way = plan(axes, channels, channel_stride, x.device)
    images = x.shape[0] * groups
    own = axes[3 - len(conv.kernel_size) :]
    halves = split_images(x, images, channels, (axes[0].size, axes[1].size, axes[2].size), way)
    group_stride = conv.weight.numel() // groups
    weights = split_weights(conv.weight.contiguous(), groups, columns, (group_stride, row_stride), way)
    if epilogue is None:
        epilogue, tensors = (conv_only, ()) if conv.bias is None else (conv_bias, (conv.bias,))
    bm, bn = 128, min(128, max(16, triton.next_power_of_2(columns)))
    if way.classes > 1:
        # The depth is short and stores are scattered: small tiles hide the latency, and have registers for addresses.
        bm, bn = 64, bn if one or whole else min(64, bn)
    warps = 8 if bn == 128 or (bn == 64 and statistics and bm == 128) else 4
    # Two programs share the memory of a multiprocessor, unless the accumulators of one take all registers.
    room = 192 * 1024 if bm * bn == 128 * 128 else 96 * 1024
    stages = max(2, min(4, room // ((bm + bn) * way.step * 4)))
    tiles = triton.cdiv(way.most, bm) * way.classes
    shape = (x.shape[0], 1 if one else conv.out_channels, *(axis.out // axis.window for axis in own))
    out = torch.empty(shape if stored else (0,), dtype=torch.float32, device=x.device)
    stats = torch.zeros(3, images, tiles, columns, dtype=torch.float32, device=x.device) if statistics else None
    _convolve[tiles * triton.cdiv(columns, bn), images](
        *halves, *weights, out, stats, way.table, *(*tensors, None, None, None)[:3], *(*numbers, 0.0, 0.0, 0.0)[:3],
        way.padded[0] * way.padded[1] * way.padded[2], way.index.shape[1], columns, groups,
        way.classes, way.positions, images * tiles * columns, *way.taps, *way.reads, *way.writes,
        FILLED=way.filled, UNIT=way.unit,
        WD=axes[0].window, WH=axes[1].window, WW=axes[2].window, ONE=one,
        STATISTICS=statistics, STORED=stored, ROW=TABLE, DENSE=way.classes == 1,
        LINES=way.same[0], ACROSS=way.same[1],
        BM=bm, BN=bn, BK=way.step, epilogue=epilogue,
        num_warps=warps, num_stages=stages,
    )  # fmt: skip
    return (out if stored else None, stats) if stats is not None else out
