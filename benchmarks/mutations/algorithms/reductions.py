"""Reductions, scans, softmax and attention in blocks."""

from __future__ import annotations

import math

import torch


def dims_of(input, dim):
    """The dimensions a reduction goes over, as a list."""
    if dim is None:
        return list(range(input.dim()))
    return [each % input.dim() for each in dim] if isinstance(dim, (tuple, list)) else [dim % input.dim()]


def rows_of(input, dims):
    """The reduced dimensions flattened into a last one."""
    kept = [each for each in range(input.dim()) if each not in dims]
    return input.permute(*kept, *dims).reshape(*[input.shape[each] for each in kept], -1)


def shaped_back(reduced, input, dims, keepdim):
    """With ones in the place of reduced dimensions where they are kept."""
    if not keepdim:
        return reduced
    return reduced.reshape([1 if each in dims else input.shape[each] for each in range(input.dim())])


def sum_blocked(input, dim=None, keepdim=False):
    """Sums of blocks, added up."""
    dims = dims_of(input, dim)
    rows = rows_of(input, dims)
    total = torch.zeros_like(rows[..., 0])
    for start in range(0, rows.shape[-1], 32):
        total = total + rows[..., start : start + 32].sum(-1)
    return shaped_back(total, input, dims, keepdim)


def sum_by_product(input, dim=None, keepdim=False):
    """A product with ones."""
    dims = dims_of(input, dim)
    rows = rows_of(input, dims)
    total = torch.matmul(rows, torch.ones_like(rows[(0,) * (rows.dim() - 1)]))
    return shaped_back(total, input, dims, keepdim)


def mean_blocked(input, dim=None, keepdim=False):
    """Sums of blocks, added up and divided by their number."""
    dims = dims_of(input, dim)
    rows = rows_of(input, dims)
    count = rows.shape[-1]
    total = torch.zeros_like(rows[..., 0])
    for start in range(0, count, 28):
        total = total + rows[..., start : start + 28].sum(-1)
    return shaped_back(total / count, input, dims, keepdim)


def mean_scaled(input, dim=None, keepdim=False):
    """A product with a vector of 1 / n."""
    dims = dims_of(input, dim)
    rows = rows_of(input, dims)
    share = torch.full_like(rows[(0,) * (rows.dim() - 1)], 1.0 / rows.shape[-1])
    return shaped_back(torch.matmul(rows, share), input, dims, keepdim)


def amax_blocked(input, dim=None, keepdim=False):
    """The largest of the largest of blocks."""
    dims = dims_of(input, dim)
    rows = rows_of(input, dims)
    most = torch.full_like(rows[..., 0], float("-inf"))
    for start in range(0, rows.shape[-1], 12):
        most = torch.maximum(most, rows[..., start : start + 12].amax(-1))
    return shaped_back(most, input, dims, keepdim)


def amin_blocked(input, dim=None, keepdim=False):
    """The least of the least of blocks."""
    dims = dims_of(input, dim)
    rows = rows_of(input, dims)
    least = torch.full_like(rows[..., 0], float("inf"))
    for start in range(0, rows.shape[-1], 12):
        least = torch.minimum(least, rows[..., start : start + 12].amin(-1))
    return shaped_back(least, input, dims, keepdim)


def argmax_blocked(input, dim):
    """Largest value so far and its place, block after block; the first of equals."""
    rows = input.movedim(dim, -1)
    best, place = rows[..., 0], torch.zeros_like(rows[..., 0], dtype=torch.int64)
    for start in range(0, rows.shape[-1], 12):
        value, at = rows[..., start : start + 12].max(-1)
        better = value > best
        best, place = torch.where(better, value, best), torch.where(better, at + start, place)
    return place


def argmin_blocked(input, dim):
    """Least value so far and its place, block after block; the first of equals."""
    rows = input.movedim(dim, -1)
    best, place = rows[..., 0], torch.zeros_like(rows[..., 0], dtype=torch.int64)
    for start in range(0, rows.shape[-1], 12):
        value, at = rows[..., start : start + 12].min(-1)
        better = value < best
        best, place = torch.where(better, value, best), torch.where(better, at + start, place)
    return place


def cumsum_blocked(input, dim):
    """Sums within blocks, and the carry of those before."""
    rows = input.movedim(dim, -1)
    out, carry = torch.zeros_like(rows), 0.0
    for start in range(0, rows.shape[-1], 16):
        part = torch.cumsum(rows[..., start : start + 16], -1) + carry
        out[..., start : start + 16] = part
        carry = part[..., -1:]
    return out.movedim(-1, dim)


def cumsum_doubling(input, dim):
    """Hillis and Steele's scan (1986): every step adds what stands twice as far back."""
    out = input.movedim(dim, -1)
    step = 1
    while step < out.shape[-1]:
        out = torch.cat([out[..., :step], out[..., step:] + out[..., :-step]], -1)
        step = step * 2
    return out.movedim(-1, dim)


def cumprod_blocked(input, dim):
    """Products within blocks, times what stands before."""
    rows = input.movedim(dim, -1)
    out, carry = torch.zeros_like(rows), 1.0
    for start in range(0, rows.shape[-1], 16):
        part = torch.cumprod(rows[..., start : start + 16], -1) * carry
        out[..., start : start + 16] = part
        carry = part[..., -1:]
    return out.movedim(-1, dim)


def norm_by_squares(input, p="fro", dim=None, keepdim=False):
    """The root of a blocked sum of squares, or a blocked sum of absolute values."""
    if p == 1:
        return sum_blocked(torch.abs(input), dim, keepdim)
    return torch.sqrt(sum_blocked(input * input, dim, keepdim))


def softmax_explicit(input, dim):
    """Maximum, exponentials, sum, quotient."""
    peak = input.amax(dim, keepdim=True)
    grown = torch.exp(input - peak)
    return grown / grown.sum(dim, keepdim=True)


def softmax_online(input, dim):
    """Maximum and sum in one pass over blocks (Milakov and Gimelshein 2018)."""
    rows = input.movedim(dim, -1)
    peak = torch.full_like(rows[..., :1], float("-inf"))
    total = torch.zeros_like(rows[..., :1])
    for start in range(0, rows.shape[-1], 20):
        block = rows[..., start : start + 20]
        higher = torch.maximum(peak, block.amax(-1, keepdim=True))
        total = total * torch.exp(peak - higher) + torch.exp(block - higher).sum(-1, keepdim=True)
        peak = higher
    return (torch.exp(rows - peak) / total).movedim(-1, dim)


def log_softmax_explicit(input, dim):
    """Less the maximum and the logarithm of the sum."""
    peak = input.amax(dim, keepdim=True)
    shifted = input - peak
    return shifted - torch.log(torch.exp(shifted).sum(dim, keepdim=True))


def logsumexp_explicit(input, dim, keepdim=False):
    """The maximum and the logarithm of the rest."""
    peak = input.amax(dim, keepdim=True)
    out = peak + torch.log(torch.exp(input - peak).sum(dim, keepdim=True))
    return out if keepdim else out.squeeze(dim)


def attention_explicit(query, key, value):
    """Scores, softmax, weighted sum."""
    scores = torch.matmul(query, key.transpose(-2, -1)) / math.sqrt(query.shape[-1])
    peak = scores.amax(-1, keepdim=True)
    grown = torch.exp(scores - peak)
    return torch.matmul(grown / grown.sum(-1, keepdim=True), value)


def attention_online(query, key, value):
    """Keys in blocks with a running maximum and sum (Dao et al. 2022)."""
    scale = 1.0 / math.sqrt(query.shape[-1])
    peak = torch.full_like(query[..., :1], float("-inf"))
    total, out = torch.zeros_like(peak), torch.zeros_like(query)
    for start in range(0, key.shape[-2], 12):
        scores = torch.matmul(query, key[..., start : start + 12, :].transpose(-2, -1)) * scale
        higher = torch.maximum(peak, scores.amax(-1, keepdim=True))
        grown, kept = torch.exp(scores - higher), torch.exp(peak - higher)
        total = total * kept + grown.sum(-1, keepdim=True)
        out = out * kept + torch.matmul(grown, value[..., start : start + 12, :])
        peak = higher
    return out / total
