"""2D transposed convolution, times a constant, mean of each map taken twice: (batch, channels, 1, 1).

Bound by the arithmetic of the convolution, which float32 would do on CUDA cores. Here both operands are two float16
halves and the convolution three products on tensor cores, as precise as float32 (`parts/split_conv.py`).
Tiles leave the means of their channels and nothing else; a second kernel puts them together.

Tried on one NVIDIA H100 80GB HBM3, without gain, 1/61: 8 warps: no difference. 2/17: statistics by two more passes
over what it wrote: no difference.
"""

import torch
import torch.nn as nn
import triton
import triton.language as tl

from kernelgauge.expert.parts.channel_norm import spread_of
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
        output_padding: int,
        multiplier: float,
    ):
        super().__init__()
        self.conv_transpose = nn.ConvTranspose2d(
            in_channels,
            out_channels,
            kernel_size,
            stride=stride,
            padding=padding,
            output_padding=output_padding,
        )
        self.multiplier = multiplier

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        _, stats = convolve(
            x,
            self.conv_transpose,
            epilogue,
            (self.conv_transpose.bias,),
            (self.multiplier,),
            statistics=True,
            stored=False,
        )
        mean = spread_of(stats).mean
        return mean[:, :, None, None]
