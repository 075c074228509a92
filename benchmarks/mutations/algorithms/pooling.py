"""Pooling by shifts of the padded input, in any number of dimensions."""

from __future__ import annotations

import itertools

import torch
import torch.nn.functional as F  # noqa: N812


def spread(value, count):
    """One number per dimension."""
    return tuple(value) if isinstance(value, (tuple, list)) else (value,) * count


def max_pool_by_shifts(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False):
    """The largest over the places of the window, one shift after another."""
    count = input.dim() - 2
    if ceil_mode:
        builtin = {1: F.max_pool1d, 2: F.max_pool2d, 3: F.max_pool3d}[count]
        return builtin(input, kernel_size, stride, padding, dilation, ceil_mode)
    kernel = spread(kernel_size, count)
    stride = spread(stride or kernel_size, count)
    padding, dilation = spread(padding, count), spread(dilation, count)
    around = [side for size in reversed(padding) for side in (size, size)]
    padded = F.pad(input, around, value=float("-inf"))
    extents = [(padded.shape[2 + i] - dilation[i] * (kernel[i] - 1) - 1) // stride[i] + 1 for i in range(count)]
    out = None
    for tap in itertools.product(*[range(size) for size in kernel]):
        window = padded
        for i, at in enumerate(tap):
            start = at * dilation[i]
            taken = torch.arange(extents[i], device=input.device) * stride[i] + start
            window = window.index_select(2 + i, taken)
        out = window if out is None else torch.maximum(out, window)
    return out


def avg_pool_by_shifts(input, kernel_size, stride=None, padding=0):
    """The mean over the places of the window, padding counted, one shift after another."""
    count = input.dim() - 2
    kernel = spread(kernel_size, count)
    stride, padding = spread(stride or kernel_size, count), spread(padding, count)
    padded = F.pad(input, [side for size in reversed(padding) for side in (size, size)])
    extents = [(padded.shape[2 + i] - kernel[i]) // stride[i] + 1 for i in range(count)]
    total, places = 0.0, 0
    for tap in itertools.product(*[range(size) for size in kernel]):
        window = padded
        for i, at in enumerate(tap):
            taken = torch.arange(extents[i], device=input.device) * stride[i] + at
            window = window.index_select(2 + i, taken)
        total, places = total + window, places + 1
    return total / places


def adaptive_avg_pool_by_mean(input, output_size):
    """The mean over all places, for an output of one place."""
    count = input.dim() - 2
    sizes = spread(output_size, count)
    if any(size != 1 for size in sizes):
        builtin = {1: F.adaptive_avg_pool1d, 2: F.adaptive_avg_pool2d, 3: F.adaptive_avg_pool3d}[count]
        return builtin(input, output_size)
    total = input.flatten(2).sum(-1)
    places = input[0, 0].numel()
    return (total / places).reshape(*input.shape[:2], *sizes)
