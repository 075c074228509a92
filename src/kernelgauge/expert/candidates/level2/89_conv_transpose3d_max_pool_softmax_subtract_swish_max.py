"""3D transposed convolution, max pooling, softmax, per-channel subtraction, swish, maximum.

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
from kernelgauge.expert.parts.pointwise import swish
from kernelgauge.expert.parts.split_conv import convolve


@triton.jit
def after(value, channel, real, p0, p1, s0, s1):
    value = tl.where(real[:, None], value, -float("inf"))
    value = tl.exp(value - tl.max(value, axis=0)[None, :])
    value = value / tl.sum(value, axis=0)[None, :]
    value = swish(value - tl.load(p0 + channel)[:, None])
    return tl.max(tl.where(real[:, None], value, -float("inf")), axis=0)[None, :]


class ModelNew(nn.Module):
    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: int,
        stride: int,
        padding: int,
        output_padding: int,
        pool_kernel_size: int,
        pool_stride: int,
        pool_padding: int,
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
        self.max_pool = nn.MaxPool3d(pool_kernel_size, stride=pool_stride, padding=pool_padding)
        self.subtract = nn.Parameter(torch.randn(out_channels))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = convolve(x, self.conv_transpose)
        return take_windows(x, (2, 2, 2), "max", after, (self.subtract,), one=True).squeeze(1)
