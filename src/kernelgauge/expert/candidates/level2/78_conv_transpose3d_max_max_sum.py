"""3D transposed convolution, max pooling by 2, max pooling by 3, sum over the channels.

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
def after(value, channel, real, p0, p1, s0, s1):
    return tl.sum(tl.where(real[:, None], value, 0.0), axis=0)[None, :]


class ModelNew(nn.Module):
    def __init__(self, in_channels: int, out_channels: int, kernel_size: int, stride: int, padding: int):
        super().__init__()
        self.conv_transpose = nn.ConvTranspose3d(
            in_channels, out_channels, kernel_size, stride=stride, padding=padding
        )
        self.max_pool1 = nn.MaxPool3d(2)
        self.max_pool2 = nn.MaxPool3d(3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = convolve(x, self.conv_transpose)
        # Pooling by two and then by three is pooling by six.
        return take_windows(x, (6, 6, 6), "max", after, one=True)
