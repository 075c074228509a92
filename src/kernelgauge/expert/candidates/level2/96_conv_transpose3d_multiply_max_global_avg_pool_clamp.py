"""3D transposed convolution, times a constant, max pooling, mean over space, clamp to [0, 1].

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
from kernelgauge.expert.parts.split_conv import convolve


@triton.jit
def epilogue(value, col, real, above, at, inside, p0, p1, p2, s0, s1, s2):
    value += tl.load(p0 + col)[:, None]
    return value * s0


class ModelNew(nn.Module):
    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: int,
        stride: int,
        padding: int,
        scale: float,
        maxpool_kernel_size: int,
    ):
        super().__init__()
        self.conv_transpose = nn.ConvTranspose3d(
            in_channels, out_channels, kernel_size, stride=stride, padding=padding
        )
        self.scale = scale
        self.maxpool = nn.MaxPool3d(maxpool_kernel_size)
        self.global_avg_pool = nn.AdaptiveAvgPool3d(1)
        self.clamp_min = 0
        self.clamp_max = 1

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = convolve(x, self.conv_transpose, epilogue, (self.conv_transpose.bias,), (self.scale,))
        x = take_windows(x, (2, 2, 2), "max")
        return x.mean(dim=(2, 3, 4), keepdim=True).clamp(self.clamp_min, self.clamp_max)
