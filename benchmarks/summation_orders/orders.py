"""Sums, products and scans in float32 that really add up in one order or another: on a GPU by kernels of CUDA's."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
import torch

from kernelgauge.kernels import CudaKernel, cuda_kernel

THREADS, PART, SPLIT = 256, 1024, 32
# Longer chains of squares or products lose more than TF32 does (decision 26): no bound could accept them.
LONGEST_SUM, LONGEST_PRODUCT = 2**17, 2**19

HONEST = {
    "in order": "one thread adds all terms of a sum",
    "atomics": "blocks of 256 terms by a tree, then one atomic addition each, in any order",
    "threads": "256 threads add every 256th term, a tree the rest; products in 32 parts",
    "parts": "parts of 1024 terms in order, then these; products by tiles of 16",
    "pairwise": "as PyTorch adds",
}
NARROW = {"half sums": "as `parts`, what has been added up so far kept in float16"}

_SOURCE = r"""
__global__ void in_order(const float* x, float* out, long long rows, long long count, long long size) {
    const long long parts = (count + size - 1) / size;
    const long long at = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (at >= rows * parts) return;
    const long long row = at / parts, start = at % parts * size;
    const long long end = start + size < count ? start + size : count;
    float sum = 0;
    for (long long i = start; i < end; ++i) sum += x[row * count + i];
    out[at] = sum;
}

__device__ float tree(float sum) {
    __shared__ float all[256];
    all[threadIdx.x] = sum;
    for (int half = 128; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half) all[threadIdx.x] += all[threadIdx.x + half];
    }
    return all[0];
}

__global__ void threads(const float* x, float* out, long long count) {
    float sum = 0;
    for (long long i = threadIdx.x; i < count; i += 256) sum += x[blockIdx.x * count + i];
    sum = tree(sum);
    if (threadIdx.x == 0) out[blockIdx.x] = sum;
}

__global__ void atomics(const float* x, float* out, long long count, long long blocks) {
    const long long row = blockIdx.x / blocks, i = blockIdx.x % blocks * 256 + threadIdx.x;
    const float sum = tree(i < count ? x[row * count + i] : 0.0f);
    if (threadIdx.x == 0) atomicAdd(out + row, sum);
}

__global__ void scan(const float* x, float* out, long long rows, long long count) {
    const long long row = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (row >= rows) return;
    float sum = 0;
    for (long long i = 0; i < count; ++i) out[row * count + i] = sum += x[row * count + i];
}

__global__ void product(const float* a, const float* b, float* out, int rows, int terms, int columns, int size) {
    const int column = blockIdx.x * 32 + threadIdx.x, row = blockIdx.y * 8 + threadIdx.y;
    if (row >= rows || column >= columns) return;
    a += blockIdx.z * (long long)rows * terms + row * (long long)terms;
    b += blockIdx.z * (long long)terms * columns + column;
    float total = 0, sum = 0;
    int in_part = 0;
    for (int k = 0; k < terms; ++k) {
        sum = fmaf(a[k], b[k * (long long)columns], sum);
        if (++in_part == size) { total += sum; sum = 0; in_part = 0; }
    }
    out[(blockIdx.z * (long long)rows + row) * columns + column] = total + sum;
}
"""


@cache
def _kernel(name: str) -> CudaKernel:
    return cuda_kernel(_SOURCE, name)


def sums(terms: torch.Tensor, order: str) -> torch.Tensor:
    """Of each row of a contiguous matrix; more than `LONGEST_SUM` are not for one thread, they go by parts."""
    terms = terms.contiguous()
    count = terms.shape[1]
    if order == "half sums":
        return _in_half(terms)
    if order == "pairwise" or not terms.numel():
        return terms.sum(1)
    if order == "in order" and count > LONGEST_SUM:
        order = "parts"
    return (_sums_on_gpu if terms.is_cuda else _sums_on_cpu)(terms, order)


def _parts(terms: torch.Tensor, size: int) -> torch.Tensor:
    """Rows cut into parts, filled up with zeros: rows, parts, terms."""
    count = terms.shape[1]
    padded = torch.nn.functional.pad(terms, (0, -count % size)) if count % size else terms
    return padded.view(len(terms), -1, size)


def _in_half(terms: torch.Tensor) -> torch.Tensor:
    return _kept_in_half(_parts(terms, PART).sum(2))


def _kept_in_half(parts: torch.Tensor) -> torch.Tensor:
    scale = parts.abs().sum(1).clamp_min(1e-30) / 1024  # so that it does not overflow
    total = torch.zeros(len(parts), dtype=torch.float16, device=parts.device)
    for part in (parts / scale[:, None]).unbind(1):
        total = (total.float() + part).half()
    return total.float() * scale


def _in_order(terms: torch.Tensor, dim: int) -> torch.Tensor:
    added: np.ndarray = np.add.accumulate(terms.numpy(), axis=dim, dtype=np.float32)
    return torch.from_numpy(np.ascontiguousarray(added.take(-1, axis=dim)))


def _sums_on_cpu(terms: torch.Tensor, order: str) -> torch.Tensor:
    if order == "in order":
        return _in_order(terms, 1)
    if order == "threads":
        return _in_order(_parts(terms, THREADS), 1).sum(1)
    if order == "atomics":
        blocks = _parts(terms, THREADS).sum(2)
        return _in_order(blocks[:, torch.randperm(blocks.shape[1])], 1)
    return _in_order(_in_order(_parts(terms, PART), 2), 1)


def _sums_on_gpu(terms: torch.Tensor, order: str) -> torch.Tensor:
    rows, count = terms.shape
    out = torch.zeros(rows, device=terms.device)
    if order == "threads":
        _kernel("threads")(rows, THREADS, terms, out, count)
    elif order == "atomics":
        blocks = -(-count // THREADS)
        _kernel("atomics")(rows * blocks, THREADS, terms, out, count, blocks)
    elif order == "in order" or count <= PART:
        _kernel("in_order")(-(-rows // 64), 64, terms, out, rows, count, count)
    else:
        parts = torch.empty(rows, -(-count // PART), device=terms.device)
        _kernel("in_order")(-(-parts.numel() // 64), 64, terms, parts, rows, count, PART)
        # Of a billion terms a million parts: still one chain.
        _kernel("in_order")(-(-rows // 64), 64, parts, out, rows, parts.shape[1], parts.shape[1])
    return out


def scans(terms: torch.Tensor, order: str) -> torch.Tensor:
    """Of each row of a matrix: all sums of its first terms."""
    terms = terms.contiguous()
    if order in ("pairwise", "half sums"):
        return terms.cumsum(1)
    if order != "in order":  # each part by itself, then what all before it have come to
        parts = _parts(terms, PART)
        own = scans(parts.reshape(-1, PART), "in order").view(parts.shape)
        before = scans(own[:, :, -1], "in order") - own[:, :, -1]
        return (own + before[:, :, None]).flatten(1)[:, : terms.shape[1]]
    if not terms.is_cuda:
        return torch.from_numpy(np.add.accumulate(terms.numpy(), axis=1, dtype=np.float32))
    out = torch.empty_like(terms)
    _kernel("scan")(-(-len(terms) // 64), 64, terms, out, *terms.shape)
    return out


_PARTS_OF_PRODUCT: dict[str, Callable[[int], int]] = {
    "in order": lambda terms: min(terms, LONGEST_PRODUCT),
    "atomics": lambda terms: -(-terms // SPLIT),
    "threads": lambda terms: -(-terms // SPLIT),
    "parts": lambda terms: 16,
}


def products(a: torch.Tensor, b: torch.Tensor, order: str) -> torch.Tensor:
    """Of two batches of matrices."""
    if order == "pairwise" or not a.numel() or not b.numel():
        return torch.bmm(a, b)
    if order == "half sums":
        pairs = zip(a.split(PART // 4, 2), b.split(PART // 4, 1), strict=True)
        parts = torch.stack([torch.bmm(left, right) for left, right in pairs], -1)
        return _kept_in_half(parts.flatten(0, -2)).view(parts.shape[:-1])
    batch, rows, terms = a.shape
    columns, size = b.shape[2], _PARTS_OF_PRODUCT[order](terms)
    if not a.is_cuda:
        return _products_on_cpu(a, b, size)
    out = torch.empty(batch, rows, columns, device=a.device)
    grid = (-(-columns // 32), -(-rows // 8), batch)
    _kernel("product")(grid, (32, 8), a.contiguous(), b.contiguous(), out, rows, terms, columns, size)
    return out


def _products_on_cpu(a: torch.Tensor, b: torch.Tensor, size: int) -> torch.Tensor:
    left, right = a.numpy(), b.numpy()
    total = np.zeros((a.shape[0], a.shape[1], b.shape[2]), np.float32)
    added, term = np.zeros_like(total), np.empty_like(total)
    for k in range(a.shape[2]):
        np.multiply(left[:, :, k, None], right[:, k, None, :], out=term)
        added += term
        if (k + 1) % size == 0:
            total += added
            added[...] = 0
    return torch.from_numpy(total + added)
