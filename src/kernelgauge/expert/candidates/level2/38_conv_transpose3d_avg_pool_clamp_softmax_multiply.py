"""Average pooling, 3D transposed convolution, clamp, softmax over all positions, per-channel scale.

Bound by the arithmetic of the convolution, which float32 would do on CUDA cores. Here both operands are two float16
halves and the convolution three products on tensor cores, as precise as float32 (`parts/split_conv.py`).
What is clamped lies between bounds: its exponential is stored without a pass for the maximum,
and tiles leave sums, by which a second kernel divides.

Tried on one NVIDIA H100 80GB HBM3, without gain, 1/61: 8 warps: no difference. 2/17: statistics by two more passes
over what it wrote: no difference.
"""

import torch
import torch.nn as nn
import triton
import triton.language as tl

from kernelgauge.expert.parts.after_conv import take_windows
from kernelgauge.expert.parts.channel_norm import Affine, apply, spread_of
from kernelgauge.expert.parts.pointwise import clamp
from kernelgauge.expert.parts.split_conv import convolve


@triton.jit
def epilogue(value, col, real, above, at, inside, p0, p1, p2, s0, s1, s2):
    value += tl.load(p0 + col)[:, None]
    return tl.exp(clamp(value, s0, s1) - s1)


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
        clamp_min: float,
        clamp_max: float,
    ):
        super().__init__()
        self.avg_pool = nn.AvgPool3d(pool_kernel_size)
        self.conv_transpose = nn.ConvTranspose3d(
            in_channels,
            out_channels,
            kernel_size,
            stride=stride,
            padding=padding,
            output_padding=output_padding,
        )
        self.clamp_min = clamp_min
        self.clamp_max = clamp_max
        self.scale = nn.Parameter(torch.ones(1, out_channels, 1, 1, 1))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = take_windows(x.contiguous(), (self.avg_pool.kernel_size,) * 3, "mean")
        numbers = (float(self.clamp_min), float(self.clamp_max))
        x, stats = convolve(x, self.conv_transpose, epilogue, (self.conv_transpose.bias,), numbers, statistics=True)
        spread = spread_of(stats)
        scale = self.scale.view(1, -1) / (spread.mean * spread.count)
        zeros = torch.zeros_like(scale)
        return apply(x, Affine(zeros, scale, zeros))
