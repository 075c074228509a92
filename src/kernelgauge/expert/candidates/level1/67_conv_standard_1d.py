"""1D convolution of (batch, in_channels, length).

Bound by the arithmetic of the convolution, which float32 would do on CUDA cores. Here both operands are two float16
halves and the convolution three products on tensor cores, as precise as float32 (`parts/split_conv.py`).
The input is split once, channels last, with its padding; the kernel gathers from it as a product would read rows.

Tried on one NVIDIA H100 80GB HBM3, without gain, 1/63: tiles of 64 positions: 75 % more time; 2 stages: 11 % more
time.
"""

import torch
import torch.nn as nn

from kernelgauge.expert.parts.split_conv import convolve


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
        self.conv1d = nn.Conv1d(
            in_channels,
            out_channels,
            kernel_size,
            stride=stride,
            padding=padding,
            dilation=dilation,
            groups=groups,
            bias=bias,
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return convolve(x, self.conv1d)
