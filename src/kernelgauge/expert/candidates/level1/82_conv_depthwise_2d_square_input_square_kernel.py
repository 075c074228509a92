"""Depthwise 2D convolution: one square filter per channel.

Bound by memory: a plane is read once and written once. PyTorch's kernel divides to find where each value belongs,
and loads one value at a time. Here a program makes a tile of 16 rows and 128 columns of one plane; its taps overlap
in the L1 cache (`parts/depthwise.py`).

Tried on one NVIDIA H100 80GB HBM3, without gain, 1/82: tiles of 32 rows, 8 warps: no difference.
"""

import torch
import torch.nn as nn

from kernelgauge.expert.parts.depthwise import convolved


class ModelNew(nn.Module):
    def __init__(self, in_channels: int, kernel_size: int, stride: int = 1, padding: int = 0, bias: bool = False):
        super().__init__()
        self.conv2d = nn.Conv2d(
            in_channels,
            in_channels,
            kernel_size,
            stride=stride,
            padding=padding,
            groups=in_channels,
            bias=bias,
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return convolved(x, self.conv2d)
