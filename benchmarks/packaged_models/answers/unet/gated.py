"""A gated block: the norm reads a row once, both products share its halves, gate and residual happen to tiles."""

import torch
import triton
import triton.language as tl

from kernelgauge.expert.parts.pointwise import gelu
from kernelgauge.expert.parts.split_gemm import product, split


@triton.jit
def layer_norm(x, weight, bias, y, width, eps, block: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    at = tl.arange(0, block)
    inside = at < width
    values = tl.load(x + row * width + at, mask=inside, other=0.0)
    away = tl.where(inside, values - tl.sum(values, 0) / width, 0.0)
    scale = 1.0 / tl.sqrt(tl.sum(away * away, 0) / width + eps)
    gain = tl.load(weight + at, mask=inside, other=0.0)
    shift = tl.load(bias + at, mask=inside, other=0.0)
    tl.store(y + row * width + at, away * scale * gain + shift, mask=inside)


@triton.jit
def bias_gelu(value, rows, cols, columns, p0, p1, p2, s0, s1, s2):
    return gelu(value + tl.load(p0 + cols)[None, :])


@triton.jit
def bias_times(value, rows, cols, columns, p0, p1, p2, s0, s1, s2):
    gate = tl.load(p1 + rows.to(tl.int64)[:, None] * columns + cols[None, :])
    return (value + tl.load(p0 + cols)[None, :]) * gate


@triton.jit
def bias_residual(value, rows, cols, columns, p0, p1, p2, s0, s1, s2):
    before = tl.load(p1 + rows.to(tl.int64)[:, None] * columns + cols[None, :])
    return value + tl.load(p0 + cols)[None, :] + before


class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        shapes = [(640,), (640,), (2560, 640), (2560,), (2560, 640), (2560,), (640, 2560), (640,)]
        for number, shape in enumerate(shapes):
            setattr(self, f"w{number}", torch.nn.Parameter(torch.randn(shape)))

    def forward(self, x):
        flat = x.contiguous().view(-1, 640)
        norm = torch.empty_like(flat)
        layer_norm[(flat.shape[0],)](flat, self.w0, self.w1, norm, 640, 1e-5, block=1024, num_warps=4)
        halves = split(norm)
        gate = product(halves, split(self.w2), bias_gelu, (self.w3,))
        gated = product(halves, split(self.w4), bias_times, (self.w5, gate))
        return product(split(gated), split(self.w6), bias_residual, (self.w7, flat)).view(x.shape)
