"""3D convolution, division, max pooling, global average, plus a bias, sum over channels.

Bound by the arithmetic of the convolution, which float32 would do on CUDA cores. Here both operands are two float16
halves and the convolution three products on tensor cores, as precise as float32 (`parts/split_conv.py`).
Tiles leave the means of their channels and nothing else; a second kernel puts them together.

Tried on one NVIDIA H100 80GB HBM3, without gain, 1/63: tiles of 64 positions: 75 % more time; 2 stages: 11 % more
time. 2/17: statistics by two more passes over what it wrote: no difference.
"""

import torch
import torch.nn as nn
import triton
import triton.language as tl

from kernelgauge.expert.parts.channel_norm import spread_of
from kernelgauge.expert.parts.split_conv import convolve


@triton.jit
def epilogue(value, col, real, above, at, inside, p0, p1, p2, s0, s1, s2):
    value += tl.load(p0 + col)[:, None]
    value = value / s0
    value = tl.reshape(value, (value.shape[0], value.shape[1] // 8, 8))
    return tl.max(value, axis=2)


class ModelNew(nn.Module):
    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: tuple,
        divisor: float,
        pool_size: tuple,
        bias_shape: tuple,
        sum_dim: int,
    ):
        super().__init__()
        self.conv = nn.Conv3d(in_channels, out_channels, kernel_size)
        self.divisor = divisor
        self.max_pool = nn.MaxPool3d(pool_size)
        self.global_avg_pool = nn.AdaptiveAvgPool3d((1, 1, 1))
        self.bias = nn.Parameter(torch.randn(bias_shape))
        self.sum_dim = sum_dim

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        _, stats = convolve(
            x,
            self.conv,
            epilogue,
            (self.conv.bias,),
            (self.divisor,),
            window=(2, 2, 2),
            statistics=True,
            stored=False,
        )
        mean = spread_of(stats).mean
        return torch.sum(mean[:, :, None, None, None] + self.bias, dim=self.sum_dim)
