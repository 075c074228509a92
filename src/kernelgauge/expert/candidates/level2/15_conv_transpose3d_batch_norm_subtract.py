"""3D transposed convolution, batch normalisation in training mode, minus each channel's spatial mean.

Bound by the arithmetic of the convolution, which float32 would do on CUDA cores. Here both operands are two float16
halves and the convolution three products on tensor cores, as precise as float32 (`parts/split_conv.py`).
Tiles leave the statistics of their channels as well, so that the normalisation reads what the convolution wrote once.

Tried on one NVIDIA H100 80GB HBM3, without gain, 1/61: 8 warps: no difference. 2/17: statistics by two more passes
over what it wrote: no difference.
"""

import torch
import torch.nn as nn

from kernelgauge.expert.parts.channel_norm import Affine, apply, by_batch, spread_of
from kernelgauge.expert.parts.split_conv import convolve


class ModelNew(nn.Module):
    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: int,
        stride: int,
        padding: int,
        bias: bool = True,
    ):
        super().__init__()
        self.conv_transpose = nn.ConvTranspose3d(
            in_channels, out_channels, kernel_size, stride=stride, padding=padding, bias=bias
        )
        self.batch_norm = nn.BatchNorm3d(out_channels)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x, stats = convolve(x, self.conv_transpose, statistics=True)
        spread = spread_of(stats)
        scale = by_batch(spread, self.batch_norm).scale
        # What the batch normalisation takes away and adds, the mean of a channel of an image takes away again.
        affine = Affine(spread.mean, scale, torch.zeros_like(scale))
        return apply(x, affine)
