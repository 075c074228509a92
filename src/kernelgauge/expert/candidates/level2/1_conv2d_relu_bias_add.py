"""2D convolution, ReLU, then a per-channel bias added after the activation.

Bound by the arithmetic of the convolution, which float32 would do on CUDA cores. Here both operands are two float16
halves and the convolution three products on tensor cores, as precise as float32 (`parts/split_conv.py`).
All that follows it happens to a tile before that is stored.

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
    return tl.maximum(value, 0.0) + tl.load(p1 + col)[:, None]


class ModelNew(nn.Module):
    def __init__(self, in_channels: int, out_channels: int, kernel_size: int, bias_shape: tuple):
        super().__init__()
        self.conv = nn.Conv2d(in_channels, out_channels, kernel_size)
        self.bias = nn.Parameter(torch.randn(bias_shape))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return convolve(x, self.conv, epilogue, (self.conv.bias, self.bias))
