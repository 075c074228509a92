"""2D convolution, instance normalisation, division by a constant.

Bound by the arithmetic of the convolution, which float32 would do on CUDA cores. Here both operands are two float16
halves and the convolution three products on tensor cores, as precise as float32 (`parts/split_conv.py`).
Tiles leave the statistics of their channels as well, so that the normalisation reads what the convolution wrote once.

Tried on one NVIDIA H100 80GB HBM3, without gain, 2/17: statistics by two more passes over what it wrote: no
difference.
"""

import torch
import torch.nn as nn
import triton

from kernelgauge.expert.parts.channel_norm import apply, by_group, spread_of
from kernelgauge.expert.parts.split_conv import convolve


@triton.jit
def after(y, channel, p0, s0, s1):
    return y / s0


class ModelNew(nn.Module):
    def __init__(self, in_channels: int, out_channels: int, kernel_size: int, divide_by: float):
        super().__init__()
        self.conv = nn.Conv2d(in_channels, out_channels, kernel_size)
        self.instance_norm = nn.InstanceNorm2d(out_channels)
        self.divide_by = divide_by

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x, stats = convolve(x, self.conv, statistics=True)
        spread = spread_of(stats)
        affine = by_group(spread, self.conv.out_channels, self.instance_norm.eps, None, None)
        return apply(x, affine, after, numbers=(self.divide_by,))
