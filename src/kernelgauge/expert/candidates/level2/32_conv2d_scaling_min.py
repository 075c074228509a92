"""2D convolution, scaling, minimum over channels.

Bound by the arithmetic of the convolution, which float32 would do on CUDA cores. Here both operands are two float16
halves and the convolution three products on tensor cores, as precise as float32 (`parts/split_conv.py`).
A tile has all channels of its positions, so that all that follows happens to it before it is stored.

Tried on one NVIDIA H100 80GB HBM3, without gain, 1/63: tiles of 64 positions: 75 % more time; 2 stages: 11 % more
time.
"""

import torch
import torch.nn as nn
import triton
import triton.language as tl

from kernelgauge.expert.parts.split_conv import convolve


@triton.jit
def epilogue(value, col, real, above, at, inside, p0, p1, p2, s0, s1, s2):
    value += tl.load(p0 + col)[:, None]
    value = tl.where(real[:, None], value * s0, float("inf"))
    return tl.min(value, axis=0)[None, :]


class ModelNew(nn.Module):
    def __init__(self, in_channels: int, out_channels: int, kernel_size: int, scale_factor: float):
        super().__init__()
        self.conv = nn.Conv2d(in_channels, out_channels, kernel_size)
        self.scale_factor = scale_factor

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return convolve(x, self.conv, epilogue, (self.conv.bias,), (self.scale_factor,), one=True)
