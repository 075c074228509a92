"""Depthwise convolution followed by a pointwise (1x1) one that mixes the channels.

Bound by memory, if what the depthwise part makes never leaves the chip: a tile of it, on CUDA cores, is at once one
operand of the pointwise part. That is three products of float16 halves on tensor cores, as precise as float32
(`parts/separable_conv.py`).

Tried on one NVIDIA H100 80GB HBM3, without gain, 1/86: two launches, the middle in memory: 20 % more time; 32
positions a program: no difference.
"""

import torch
import torch.nn as nn

from kernelgauge.expert.parts.separable_conv import mix_channels


class ModelNew(nn.Module):
    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: int,
        stride: int = 1,
        padding: int = 0,
        dilation: int = 1,
        bias: bool = False,
    ):
        super().__init__()
        self.depthwise = nn.Conv2d(
            in_channels,
            in_channels,
            kernel_size,
            stride=stride,
            padding=padding,
            dilation=dilation,
            groups=in_channels,
            bias=bias,
        )
        self.pointwise = nn.Conv2d(in_channels, out_channels, kernel_size=1, bias=bias)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return mix_channels(x, self.pointwise, self.depthwise)
