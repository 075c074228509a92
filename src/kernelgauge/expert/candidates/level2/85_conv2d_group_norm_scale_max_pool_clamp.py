"""2D convolution, group normalisation, per-channel scale, max pooling, clamp.

Bound by the arithmetic of the convolution, which float32 would do on CUDA cores. Here both operands are two float16
halves and the convolution three products on tensor cores, as precise as float32 (`parts/split_conv.py`).
A second kernel takes windows of what the convolution wrote.

Tried on one NVIDIA H100 80GB HBM3, without gain, 1/63: tiles of 64 positions: 75 % more time; 2 stages: 11 % more
time. 2/17: statistics by two more passes over what it wrote: no difference.
"""

import torch
import torch.nn as nn
import triton

from kernelgauge.expert.parts.after_conv import take_windows
from kernelgauge.expert.parts.channel_norm import Affine, by_group, spread_of
from kernelgauge.expert.parts.pointwise import clamp
from kernelgauge.expert.parts.split_conv import convolve


@triton.jit
def after(value, channel, real, p0, p1, s0, s1):
    return clamp(value, s0, s1)


class ModelNew(nn.Module):
    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: int,
        num_groups: int,
        scale_shape: tuple,
        maxpool_kernel_size: int,
        clamp_min: float,
        clamp_max: float,
    ):
        super().__init__()
        self.conv = nn.Conv2d(in_channels, out_channels, kernel_size)
        self.group_norm = nn.GroupNorm(num_groups, out_channels)
        self.scale = nn.Parameter(torch.ones(scale_shape))
        self.maxpool = nn.MaxPool2d(maxpool_kernel_size)
        self.clamp_min = clamp_min
        self.clamp_max = clamp_max

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x, stats = convolve(x, self.conv, statistics=True)
        spread = spread_of(stats)
        affine = by_group(
            spread, self.group_norm.num_groups, self.group_norm.eps, self.group_norm.weight, self.group_norm.bias
        )
        # The scale is a part of what the normalisation ends with.
        scale = self.scale.view(1, -1)
        affine = Affine(affine.middle, affine.scale * scale, affine.shift * scale)
        numbers = (self.clamp_min, self.clamp_max)
        return take_windows(x, (self.maxpool.kernel_size,) * 2, "max", after, (), numbers, affine=affine)
