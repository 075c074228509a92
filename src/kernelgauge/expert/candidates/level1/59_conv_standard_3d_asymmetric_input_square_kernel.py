"""Convolves each depth slice of (batch, channels, height, width, depth) with a k x k x 1 kernel.

Bound by the arithmetic of the convolution, which float32 would do on CUDA cores. Here it is three products of TF32 on
tensor cores, whose operands are split in registers: as precise as float32, and no pass beforehand
(`parts/gathered_conv.py`). Three channels times nine positions of the kernel make the depth of the product.

Tried on one NVIDIA H100 80GB HBM3, without gain, 1/59: both operands split into two float16 halves by a pass of their
own: 106 % more time; float32 on CUDA cores: 99 % more time.
"""

import torch
import torch.nn as nn

from kernelgauge.expert.parts.gathered_conv import convolve


class ModelNew(nn.Module):
    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: int,
        stride: int = 1,
        padding: int = 0,
        dilation: int = 1,
        groups: int = 1,
        bias: bool = False,
    ):
        super().__init__()
        self.conv3d = nn.Conv3d(
            in_channels,
            out_channels,
            (kernel_size, kernel_size, 1),
            stride=stride,
            padding=padding,
            dilation=dilation,
            groups=groups,
            bias=bias,
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return convolve(x, self.conv3d)
