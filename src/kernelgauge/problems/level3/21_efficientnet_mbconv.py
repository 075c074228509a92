import torch
import torch.nn as nn


class Model(nn.Module):
    """MBConv block: 1x1 expansion, depthwise convolution, 1x1 projection, each with batch normalisation.

    The input is added if the block keeps its shape. No squeeze-and-excitation; ReLU6 as activation.
    """

    def __init__(self, in_channels: int, out_channels: int, kernel_size: int, stride: int, expand_ratio: int):
        super().__init__()
        self.use_residual = stride == 1 and in_channels == out_channels
        hidden_channels = in_channels * expand_ratio
        self.expand_conv = None
        if expand_ratio != 1:
            self.expand_conv = nn.Sequential(
                nn.Conv2d(in_channels, hidden_channels, kernel_size=1, bias=False),
                nn.BatchNorm2d(hidden_channels),
                nn.ReLU6(inplace=True),
            )
        self.depthwise_conv = nn.Sequential(
            nn.Conv2d(
                hidden_channels,
                hidden_channels,
                kernel_size=kernel_size,
                stride=stride,
                padding=(kernel_size - 1) // 2,
                groups=hidden_channels,
                bias=False,
            ),
            nn.BatchNorm2d(hidden_channels),
            nn.ReLU6(inplace=True),
        )
        self.project_conv = nn.Sequential(
            nn.Conv2d(hidden_channels, out_channels, kernel_size=1, bias=False),
            nn.BatchNorm2d(out_channels),
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        out = x if self.expand_conv is None else self.expand_conv(x)
        out = self.depthwise_conv(out)
        out = self.project_conv(out)
        if self.use_residual:
            out += x
        return out


height = 224
width = 224
batch_size = 10
in_channels = 112
out_channels = 192
kernel_size = 5
stride = 2
expand_ratio = 6


def get_inputs():
    x = torch.rand(batch_size, in_channels, height, width)
    return [x]


def get_init_inputs():
    return [in_channels, out_channels, kernel_size, stride, expand_ratio]
