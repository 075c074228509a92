"""The first convolution of AlexNet, with a bias: 3 -> 96 channels, stride 4. num_classes is ignored.

Bound by the arithmetic of the convolution, which float32 would do on CUDA cores. Here both operands are two float16
halves and the convolution three products on tensor cores, as precise as float32 (`parts/split_conv.py`).
Three channels are filled up to four, and the kernel's positions times these make the depth of the product.

Tried on one NVIDIA H100 80GB HBM3, without gain, 1/50: gathered, three products of TF32, one launch: 247 % more time.
"""

import torch
import torch.nn as nn

from kernelgauge.expert.parts.split_conv import convolve


class ModelNew(nn.Module):
    def __init__(self, num_classes: int):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 96, kernel_size=11, stride=4, padding=2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return convolve(x, self.conv1)
