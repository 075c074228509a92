"""Matrix products in other orders of summation; every signature is that of the PyTorch function it stands for."""

from __future__ import annotations

import torch


def matmul_split(input, other):
    """Partial products over blocks of the inner dimension, added up."""
    inner = input.shape[-1]
    total = 0.0
    for start in range(0, inner, 20):
        total = total + torch.matmul(input[..., start : start + 20], other[..., start : start + 20, :])
    return total


def matmul_tiles(input, other):
    """The output in tiles of rows, each written into its place."""
    rows = input.shape[-2]
    batch = torch.broadcast_shapes(input.shape[:-2], other.shape[:-2])
    out = input.new_zeros((*batch, rows, other.shape[-1]))
    for start in range(0, rows, 12):
        out[..., start : start + 12, :] = torch.matmul(input[..., start : start + 12, :], other)
    return out


def matmul_transposed(input, other):
    """The product of the transposes; the output is strided."""
    return torch.matmul(other.transpose(-2, -1), input.transpose(-2, -1)).transpose(-2, -1)


def matmul_halves(input, other):
    """Both halves of the inner dimension, the later one first."""
    half = input.shape[-1] // 2
    first = torch.matmul(input[..., :half], other[..., :half, :])
    second = torch.matmul(input[..., half:], other[..., half:, :])
    return second + first


def linear_addmm(input, weight, bias=None):
    """One addmm over all rows."""
    flat = input.reshape(-1, input.shape[-1])
    out = torch.mm(flat, weight.t()) if bias is None else torch.addmm(bias, flat, weight.t())
    return out.reshape(*input.shape[:-1], weight.shape[0])


def linear_split(input, weight, bias=None):
    """Partial products over blocks of the input features; the bias comes last."""
    features = input.shape[-1]
    out = 0.0
    for start in range(0, features, 24):
        out = out + torch.matmul(input[..., start : start + 24], weight[:, start : start + 24].t())
    if bias is not None:
        out = out + bias
    return out


def linear_transposed(input, weight, bias=None):
    """Weight times the transposed input; the bias is where the sum begins."""
    flat = input.reshape(-1, input.shape[-1])
    out = torch.mm(weight, flat.t()) if bias is None else torch.addmm(bias.unsqueeze(1), weight, flat.t())
    return out.t().contiguous().reshape(*input.shape[:-1], weight.shape[0])
