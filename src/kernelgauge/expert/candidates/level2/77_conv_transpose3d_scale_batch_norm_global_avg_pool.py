"""3D transposed convolution, times a constant, batch normalisation in training mode, mean over space.

Bound by the arithmetic of the convolution, which float32 would do on CUDA cores. Here both operands are two float16
halves and the convolution three products on tensor cores, as precise as float32 (`parts/split_conv.py`).
Tiles leave the statistics of their channels and nothing else: the mean of a normalised channel is its mean,
normalised.

Tried on one NVIDIA H100 80GB HBM3, without gain, 1/61: 8 warps: no difference. 2/17: statistics by two more passes
over what it wrote: no difference.
"""

import torch
import torch.nn as nn
import triton
import triton.language as tl

from kernelgauge.expert.parts.channel_norm import by_batch, spread_of
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
        scale_factor: float,
        eps: float = 1e-5,
        momentum: float = 0.1,
    ):
        super().__init__()
        self.conv_transpose = nn.ConvTranspose3d(in_channels, out_channels, kernel_size)
        self.scale_factor = scale_factor
        self.batch_norm = nn.BatchNorm3d(out_channels, eps=eps, momentum=momentum)
        self.global_avg_pool = nn.AdaptiveAvgPool3d(1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        _, stats = convolve(
            x,
            self.conv_transpose,
            epilogue,
            (self.conv_transpose.bias,),
            (self.scale_factor,),
            statistics=True,
            stored=False,
        )
        spread = spread_of(stats)
        affine = by_batch(spread, self.batch_norm)
        mean = (spread.mean - affine.middle) * affine.scale + affine.shift
        return mean[:, :, None, None, None]
