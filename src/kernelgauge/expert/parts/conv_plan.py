"""Where a convolution, plain or transposed, reads and writes: all that follows from sizes alone.

A transposed convolution of stride s is a set of plain ones. Outputs of one residue class modulo s read inputs of
stride one through every s-th position of the kernel (or of more, or none, where dilation and s share a factor). A
plain one is a set of one class. One and two dimensions are three, the first ones of size 1.

The input lies in memory channels last and with its padding filled in, so what an output reads through one line of an
undilated kernel lies side by side: kernel width times channels make one stretch of the depth.
"""

from __future__ import annotations

import functools
import itertools
import math
from typing import NamedTuple

import torch

TABLE = 9
"""Numbers that the kernel reads for each class."""


class Axis(NamedTuple):
    """One dimension of a convolution."""

    size: int
    kernel: int
    stride: int
    padding: int
    dilation: int
    out: int
    transposed: bool
    window: int = 1
    """How many outputs side by side are pooled into one."""


class _Class(NamedTuple):
    """Outputs along one axis that read through the same taps."""

    taps: tuple[int, ...]
    """Positions in the kernel, in the order of the inputs that they read."""
    first: int
    """Where the first output reads through the first tap, counted from the input's own start."""
    start: int
    many: int


class Plan(NamedTuple):
    """What the kernels need; lengths are in positions of the padded input, each of `filled` channels."""

    classes: int
    table: torch.Tensor
    """[classes, TABLE] of int32: taps per plane and line, depth, first read and write, sizes and count of outputs."""
    index: torch.Tensor
    """[classes, depth] of int32: where in one output channel's weights each step of the depth comes from, or -1."""
    padded: tuple[int, int, int]
    margin: tuple[int, int, int]
    filled: int
    """Channels, filled up to whole 8 or 16 bytes."""
    tail: int
    """How far behind the last image the kernel may read, in channels: zeros must be there."""
    unit: int
    """A stretch of the depth that lies side by side in the input."""
    step: int
    """How much of the depth tensor cores take at once."""
    taps: tuple[int, int, int]
    """From tap to tap of the kernel."""
    reads: tuple[int, int, int]
    """From output to output of one class in the input, in each dimension."""
    writes: tuple[int, int, int]
    """The same in the output, in elements."""
    positions: int
    """Of an output image, pooled."""
    most: int
    """Outputs of the largest class, before pooling."""
    same: tuple[int, int]
    """Taps per plane and line where there is one class, known when the kernel is compiled; else zeros."""


def _classes_along(axis: Axis) -> list[_Class]:
    if not axis.transposed:
        return [_Class(tuple(range(axis.kernel)), -axis.padding, 0, axis.out // axis.window * axis.window)]
    found = []
    for start in range(min(axis.stride, axis.out)):
        at = {k: start + axis.padding - k * axis.dilation for k in reversed(range(axis.kernel))}
        taps = tuple(k for k, place in at.items() if place % axis.stride == 0)
        first = at[taps[0]] // axis.stride if taps else 0
        found.append(
            _Class(taps, first, start, math.ceil((axis.out - start) / axis.stride) // axis.window * axis.window)
        )
    return found


def _depth_layout(channels: int, filled: int, most: list[int], tap: int) -> tuple[int, int, bool]:
    """Stretch, step, and whether a line of the kernel is one stretch: the least work of the ways to cut the depth."""
    lines, taps = most[0] * most[1], most[0] * most[1] * most[2]
    ways: list[tuple[float, int, int, bool]] = []
    for step in (64, 32):
        dearer = 1.0 if step == 64 else 1.1
        if tap == 1 and most[2] > 1:
            line = math.ceil(most[2] * filled / step) * step
            ways.append((lines * line * dearer, line, step, True))
        one = math.ceil(filled / step) * step
        ways.append((taps * one * dearer, one, step, False))
        if filled < step and step % filled == 0:
            # Each thread works out where its part of the step lies.
            ways.append((math.ceil(taps * filled / step) * step * dearer * 1.1, filled, step, False))
    _, unit, step, folded = min(ways)
    return unit, step, folded


@functools.lru_cache
def plan(axes: tuple[Axis, Axis, Axis], channels: int, channel_stride: int, device: torch.device) -> Plan:
    """Of a convolution of so many channels a group, whose weights have `channel_stride` from channel to channel."""
    along = [_classes_along(axis) for axis in axes]
    taps = [a.dilation // math.gcd(a.dilation, a.stride) if a.transposed else a.dilation for a in axes]
    reads = [1 if a.transposed else a.stride for a in axes]
    strides = [a.stride if a.transposed else 1 for a in axes]
    margin, padded = [], []
    for classes, tap, read in zip(along, taps, reads, strict=True):
        margin.append(max(0, -min(c.first for c in classes)))
        last = max(c.first + max(0, len(c.taps) - 1) * tap + (c.many - 1) * read for c in classes)
        padded.append(max(1, last + 1 + margin[-1]))
    plane, line = padded[1] * padded[2], padded[2]
    filled = 4 if channels <= 4 else math.ceil(channels / 8) * 8
    most = [max(1, *(len(c.taps) for c in classes)) for classes in along]
    unit, step, folded = _depth_layout(channels, filled, most, taps[2])
    outs = [a.out // a.window for a in axes]
    rows, indices, tail = [], [], 0
    for d, h, w in itertools.product(*along):
        counts = [len(c.taps) for c in (d, h, w)]
        across = min(1, counts[2]) if folded else counts[2]
        depth = math.ceil(counts[0] * counts[1] * across * unit / step) * step
        base = (d.first + margin[0]) * plane + (h.first + margin[1]) * line + w.first + margin[2]
        start = (d.start * outs[1] + h.start) * outs[2] + w.start
        many = [c.many // a.window for c, a in zip((d, h, w), axes, strict=True)]
        rows.append(
            [max(1, counts[1]), max(1, across), depth, base, start, *many, math.prod(c.many for c in (d, h, w))]
        )
        k = torch.arange(depth)
        place, within = k // unit, k % unit
        at = [
            place // max(1, counts[1] * across),
            place // max(1, across) % max(1, counts[1]),
            place % max(1, across),
        ]
        farthest = [(c.many - 1) * read for c, read in zip((d, h, w), reads, strict=True)]
        reach = (at[0] * taps[0] * plane + at[1] * taps[1] * line + at[2] * taps[2]) * filled + within
        reach += (base + farthest[0] * plane + farthest[1] * line + farthest[2]) * filled + 1
        if depth:
            tail = max(tail, int(reach.max()) - padded[0] * plane * filled)
        if folded:
            at[2], within = within // filled, within % filled
        good = (at[0] < counts[0]) & (at[2] < counts[2]) & (within < channels)
        real = [
            torch.tensor(c.taps or (0,))[i.clamp(max=max(0, len(c.taps) - 1))]
            for c, i in zip((d, h, w), at, strict=True)
        ]
        from_ = within * channel_stride + (real[0] * axes[1].kernel + real[1]) * axes[2].kernel + real[2]
        indices.append(torch.where(good, from_, -1))
    index = torch.nn.utils.rnn.pad_sequence(indices, batch_first=True, padding_value=-1)
    if not index.shape[1]:
        index = torch.full((len(rows), step), -1)
    return Plan(
        classes=len(rows),
        table=torch.tensor(rows, dtype=torch.int32, device=device),
        index=index.to(torch.int32).to(device),
        padded=tuple(padded),
        margin=tuple(margin),
        filled=filled,
        tail=tail,
        unit=unit,
        step=step,
        taps=(taps[0] * plane, taps[1] * line, taps[2]),
        reads=(reads[0] * plane, reads[1] * line, reads[2]),
        writes=(strides[0] * outs[1] * outs[2], strides[1] * outs[2], strides[2]),
        positions=math.prod(outs),
        most=max(row[8] for row in rows),
        same=(rows[0][0], rows[0][1]) if len(rows) == 1 else (0, 0),
    )
