import math

import torch
import torch.nn as nn
import triton
from triton.experimental import gluon
from triton.experimental.gluon import language as gl

LARGEST = 8192  # chunk of a sample


@gluon.jit
def parts_kernel(x_ptr, mean_ptr, squares_ptr, CHUNK: gl.constexpr):
    """Mean of a chunk, and the sum of squared distances from it: what merges without cancelling."""
    layout: gl.constexpr = gl.BlockedLayout([4], [32], [gl.num_warps()], [0])
    chunk = gl.program_id(0).to(gl.int64)
    x = gl.load(x_ptr + chunk * CHUNK + gl.arange(0, CHUNK, layout=layout))
    mean = gl.sum(x, axis=0) / CHUNK
    gl.store(mean_ptr + chunk, mean)
    gl.store(squares_ptr + chunk, gl.sum((x - mean) * (x - mean), axis=0))


@gluon.jit
def apply_kernel(x_ptr, mean_ptr, scale_ptr, weight_ptr, bias_ptr, y_ptr, size, CHUNK: gl.constexpr):
    layout: gl.constexpr = gl.BlockedLayout([4], [32], [gl.num_warps()], [0])
    # Samples are the fast axis: what is loaded of weight and bias serves all of them from the L2 cache.
    sample = gl.program_id(0)
    offsets = gl.program_id(1) * CHUNK + gl.arange(0, CHUNK, layout=layout)
    at = sample.to(gl.int64) * size + offsets
    x = (gl.load(x_ptr + at) - gl.load(mean_ptr + sample)) * gl.load(scale_ptr + sample)
    gl.store(y_ptr + at, x * gl.load(weight_ptr + offsets) + gl.load(bias_ptr + offsets))


class ModelNew(nn.Module):
    def __init__(self, normalized_shape: tuple):
        super().__init__()
        self.ln = nn.LayerNorm(normalized_shape=normalized_shape)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x.contiguous()
        size = self.ln.weight.numel()
        chunk = math.gcd(size, LARGEST)  # a power of two
        samples, chunks = x.numel() // size, size // chunk
        means, squares = torch.empty(2, samples, chunks, dtype=x.dtype, device=x.device)
        parts_kernel[(samples * chunks,)](x, means, squares, CHUNK=chunk, num_warps=8)
        variance = squares.sum(1) / size + means.var(1, correction=0)
        scale = torch.rsqrt(variance + self.ln.eps)
        y = torch.empty_like(x)
        grid = (samples, chunks)
        tensors = (x, means.mean(1), scale, self.ln.weight, self.ln.bias, y)
        apply_kernel[grid](*tensors, size, CHUNK=chunk, num_warps=8)
        return y


def compile_ahead():
    parts_kernel.warmup(*[torch.float32] * 3, CHUNK=LARGEST, num_warps=8, grid=(1,))
    apply_kernel.warmup(*[torch.float32] * 6, 64 * 256 * 256, CHUNK=LARGEST, num_warps=8, grid=(1,))
