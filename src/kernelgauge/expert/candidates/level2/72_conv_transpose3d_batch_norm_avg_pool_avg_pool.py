"""3D transposed convolution, batch normalisation in training mode, 2x2x2 average pooling twice.

Bound by the arithmetic of the convolution, which float32 would do on CUDA cores. Here both operands are two float16
halves and the convolution three products on tensor cores, as precise as float32 (`parts/split_conv.py`).
A second kernel takes windows of what the convolution wrote.

Tried on one NVIDIA H100 80GB HBM3, without gain, 1/61: 8 warps: no difference. 2/17: statistics by two more passes
over what it wrote: no difference.
"""

import torch
import torch.nn as nn

from kernelgauge.expert.parts.after_conv import take_windows
from kernelgauge.expert.parts.channel_norm import by_batch, spread_of
from kernelgauge.expert.parts.split_conv import convolve


class ModelNew(nn.Module):
    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: int,
        stride: int,
        padding: int,
        bias_shape: tuple,
    ):
        super().__init__()
        self.conv_transpose = nn.ConvTranspose3d(
            in_channels, out_channels, kernel_size, stride=stride, padding=padding
        )
        self.batch_norm = nn.BatchNorm3d(out_channels)
        self.avg_pool1 = nn.AvgPool3d(2)
        self.avg_pool2 = nn.AvgPool3d(2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x, stats = convolve(x, self.conv_transpose, statistics=True)
        affine = by_batch(spread_of(stats), self.batch_norm)
        # Two poolings by two are one by four.
        return take_windows(x, (4, 4, 4), "mean", affine=affine)
