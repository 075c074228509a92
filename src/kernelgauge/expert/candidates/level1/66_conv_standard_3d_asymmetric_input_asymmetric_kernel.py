"""3D convolution with unequal input sizes and an unequal kernel.

Bound by the arithmetic of the convolution, which float32 would do on CUDA cores. Here both operands are two float16
halves and the convolution three products on tensor cores, as precise as float32 (`parts/split_conv.py`).
Three channels are filled up to four, and the kernel's positions times these make the depth of the product.

Tried on one NVIDIA H100 80GB HBM3, without gain, 1/66: gathered, three products of TF32, one launch: 182 % more time.
"""

import torch
import torch.nn as nn

from kernelgauge.expert.parts.split_conv import convolve


class ModelNew(nn.Module):
    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: tuple,
        stride: tuple = (1, 1, 1),
        padding: tuple = (0, 0, 0),
        dilation: tuple = (1, 1, 1),
        groups: int = 1,
        bias: bool = False,
    ):
        super().__init__()
        self.conv3d = nn.Conv3d(
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
        return convolve(x, self.conv3d)
