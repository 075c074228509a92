"""3D transposed convolution with stride, padding and dilation.

Bound by the arithmetic of the convolution, which float32 would do on CUDA cores. Here both operands are two float16
halves and the convolution three products on tensor cores, as precise as float32 (`parts/split_conv.py`).
Outputs of one residue class modulo the stride are a plain convolution by some of the kernel's positions; all
classes run together, so what they write side by side meets in the L2 cache.

Tried on one NVIDIA H100 80GB HBM3, without gain, 1/61: 8 warps: no difference.
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
        bias: bool = False,
    ):
        super().__init__()
        self.conv_transpose3d = nn.ConvTranspose3d(
            in_channels,
            out_channels,
            kernel_size,
            stride=stride,
            padding=padding,
            dilation=dilation,
            bias=bias,
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return convolve(x, self.conv_transpose3d)
