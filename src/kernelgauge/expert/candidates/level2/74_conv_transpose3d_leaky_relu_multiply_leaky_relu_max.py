"""3D transposed convolution, leaky ReLU, per-channel multiplier, leaky ReLU again, 2x2x2 max pooling.

Bound by the arithmetic of the convolution, which float32 would do on CUDA cores. Here both operands are two float16
halves and the convolution three products on tensor cores, as precise as float32 (`parts/split_conv.py`).
A second kernel takes windows of what the convolution wrote.

Tried on one NVIDIA H100 80GB HBM3, without gain, 1/61: 8 warps: no difference.
"""

import torch
import torch.nn as nn
import triton
import triton.language as tl

from kernelgauge.expert.parts.after_conv import take_windows
from kernelgauge.expert.parts.pointwise import leaky_relu
from kernelgauge.expert.parts.split_conv import convolve


@triton.jit
def epilogue(value, col, real, above, at, inside, p0, p1, p2, s0, s1, s2):
    value += tl.load(p0 + col)[:, None]
    return leaky_relu(leaky_relu(value, s0) * tl.load(p1 + col)[:, None], s0)


class ModelNew(nn.Module):
    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: int,
        stride: int,
        padding: int,
        output_padding: int,
        multiplier_shape: tuple,
    ):
        super().__init__()
        self.conv_transpose = nn.ConvTranspose3d(
            in_channels,
            out_channels,
            kernel_size,
            stride=stride,
            padding=padding,
            output_padding=output_padding,
        )
        self.multiplier = nn.Parameter(torch.randn(multiplier_shape))
        self.leaky_relu = nn.LeakyReLU(0.2)
        self.max_pool = nn.MaxPool3d(2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        numbers = (self.leaky_relu.negative_slope,)
        x = convolve(x, self.conv_transpose, epilogue, (self.conv_transpose.bias, self.multiplier), numbers)
        return take_windows(x, (2, 2, 2), "max")
