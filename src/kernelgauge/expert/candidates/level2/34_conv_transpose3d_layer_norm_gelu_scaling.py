"""3D transposed convolution, layer normalisation over the last dimension, GELU, scaling.

Bound by the arithmetic of the convolution, which float32 would do on CUDA cores. Here both operands are two float16
halves and the convolution three products on tensor cores, as precise as float32 (`parts/split_conv.py`).
A second kernel takes whole lines of what the convolution wrote.

Tried on one NVIDIA H100 80GB HBM3, without gain, 1/61: 8 warps: no difference.
"""

import torch
import torch.nn as nn
import triton

from kernelgauge.expert.parts.pointwise import gelu
from kernelgauge.expert.parts.split_conv import convolve
from kernelgauge.expert.parts.width_norm import width_norm


@triton.jit
def after(value, s0):
    return gelu(value) * s0


class ModelNew(nn.Module):
    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: int,
        stride: int,
        padding: int,
        bias: bool = True,
        eps: float = 1e-5,
        scaling_factor: float = 1.0,
    ):
        super().__init__()
        self.conv_transpose = nn.ConvTranspose3d(
            in_channels, out_channels, kernel_size, stride=stride, padding=padding, bias=bias
        )
        self.layer_norm = nn.LayerNorm(out_channels, eps=eps)
        self.scaling_factor = scaling_factor

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = convolve(x, self.conv_transpose)
        return width_norm(x, self.layer_norm, after, self.scaling_factor)
