"""Convolutions as kernels compute them: by taps, by columns, by groups of channels, in any number of dimensions."""

from __future__ import annotations

import itertools

import torch
import torch.nn.functional as F  # noqa: N812


def spread(value, count):
    """One number per dimension."""
    return tuple(value) if isinstance(value, (tuple, list)) else (value,) * count


def convolve_by_taps(input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
    """The sum over the taps of the kernel of one product over channels each."""
    count = weight.dim() - 2
    stride, padding, dilation = spread(stride, count), spread(padding, count), spread(dilation, count)
    padded = F.pad(input, [side for size in reversed(padding) for side in (size, size)])
    reach = [dilation[i] * (weight.shape[2 + i] - 1) for i in range(count)]
    extents = [(padded.shape[2 + i] - reach[i] - 1) // stride[i] + 1 for i in range(count)]
    batch, channels, depth = input.shape[0], weight.shape[0], weight.shape[1]
    total = 0.0
    for tap in itertools.product(*[range(size) for size in weight.shape[2:]]):
        window = padded
        for i, at in enumerate(tap):
            start = at * dilation[i]
            taken = torch.arange(extents[i], device=input.device) * stride[i] + start
            window = window.index_select(2 + i, taken)
        kernel = weight[(slice(None), slice(None), *tap)].reshape(groups, channels // groups, depth)
        total = total + torch.einsum("goc,bgcl->bgol", kernel, window.reshape(batch, groups, depth, -1))
    out = total.reshape(batch, channels, *extents)
    if bias is not None:
        out = out + bias.reshape(-1, *[1] * count)
    return out


def convolve_im2col(input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
    """Columns of the unfolded image times the kernel as a matrix; two dimensions."""
    stride, padding, dilation = spread(stride, 2), spread(padding, 2), spread(dilation, 2)
    columns = F.unfold(input, weight.shape[2:], dilation, padding, stride)
    batch, channels = input.shape[0], weight.shape[0]
    matrix = weight.reshape(groups, channels // groups, -1)
    out = torch.matmul(matrix, columns.reshape(batch, groups, matrix.shape[2], -1)).reshape(batch, channels, -1)
    if bias is not None:
        out = out + bias.reshape(-1, 1)
    sizes = [
        (input.shape[2 + i] + 2 * padding[i] - dilation[i] * (weight.shape[2 + i] - 1) - 1) // stride[i] + 1
        for i in (0, 1)
    ]
    return out.reshape(batch, channels, *sizes)


def convolve_halves(input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
    """Input channels in blocks of eight, their results added up; grouped ones in one go."""
    count = weight.dim() - 2
    stride, padding, dilation = spread(stride, count), spread(padding, count), spread(dilation, count)
    none = (0,) * count
    if groups > 1:
        return torch.convolution(input, weight, bias, stride, padding, dilation, False, none, groups)
    channels = input.shape[1]
    out = 0.0
    for start in range(0, channels, 8):
        part, kernel = input[:, start : start + 8], weight[:, start : start + 8]
        out = out + torch.convolution(part, kernel, None, stride, padding, dilation, False, none, 1)
    if bias is not None:
        out = out + bias.reshape(-1, *[1] * count)
    return out


def scatter_by_taps(input, weight, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1):
    """A transposed convolution: each tap adds its product over channels to strided places of the output."""
    count = weight.dim() - 2
    stride, padding, dilation = spread(stride, count), spread(padding, count), spread(dilation, count)
    further = spread(output_padding, count)
    batch, depth, channels = input.shape[0], input.shape[1] // groups, weight.shape[1]
    sizes = [
        (input.shape[2 + i] - 1) * stride[i] + dilation[i] * (weight.shape[2 + i] - 1) + 1 + further[i]
        for i in range(count)
    ]
    out = input.new_zeros((batch, channels * groups, *sizes))
    for tap in itertools.product(*[range(size) for size in weight.shape[2:]]):
        kernel = weight[(slice(None), slice(None), *tap)].reshape(groups, depth, channels)
        part = torch.einsum("gco,bgcl->bgol", kernel, input.reshape(batch, groups, depth, -1))
        place = [slice(None), slice(None)]
        for i, at in enumerate(tap):
            start = at * dilation[i]
            place.append(slice(start, start + (input.shape[2 + i] - 1) * stride[i] + 1, stride[i]))
        out[tuple(place)] += part.reshape(batch, channels * groups, *input.shape[2:])
    for i in range(count):
        out = out.narrow(2 + i, padding[i], sizes[i] - 2 * padding[i])
    if bias is not None:
        out = out + bias.reshape(-1, *[1] * count)
    return out


def gather_flipped(input, weight, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1):
    """A transposed convolution as a convolution of the input with zeros between, by the flipped kernel."""
    count = weight.dim() - 2
    stride, padding, dilation = spread(stride, count), spread(padding, count), spread(dilation, count)
    further = spread(output_padding, count)
    depth, channels = input.shape[1] // groups, weight.shape[1]
    sizes = [(input.shape[2 + i] - 1) * stride[i] + 1 for i in range(count)]
    stuffed = input.new_zeros((*input.shape[:2], *sizes))
    stuffed[(slice(None), slice(None), *[slice(None, None, step) for step in stride])] = input
    around = []
    for i in reversed(range(count)):
        side = dilation[i] * (weight.shape[2 + i] - 1) - padding[i]
        around += [side, side + further[i]]
    kernel = weight.reshape(groups, depth, channels, *weight.shape[2:]).transpose(1, 2)
    kernel = kernel.reshape(groups * channels, depth, *weight.shape[2:]).flip(list(range(2, 2 + count)))
    one, none = (1,) * count, (0,) * count
    return torch.convolution(F.pad(stuffed, around), kernel, bias, one, none, dilation, False, none, groups)
