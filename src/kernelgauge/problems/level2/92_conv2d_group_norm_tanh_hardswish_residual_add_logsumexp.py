import torch
import torch.nn as nn


class Model(nn.Module):
    """2D convolution, group normalisation, tanh, hardswish, residual, log-sum-exp over the channels.

    The residual is the output of the convolution.
    """

    def __init__(self, in_channels: int, out_channels: int, kernel_size: int, groups: int, eps: float = 1e-5):
        super().__init__()
        self.conv = nn.Conv2d(in_channels, out_channels, kernel_size)
        self.group_norm = nn.GroupNorm(groups, out_channels, eps=eps)
        self.tanh = nn.Tanh()
        self.hard_swish = nn.Hardswish()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        residual = self.conv(x)
        x = self.group_norm(residual)
        x = self.tanh(x)
        x = self.hard_swish(x)
        x = residual + x
        x = torch.logsumexp(x, dim=1, keepdim=True)
        return x


batch_size = 128
in_channels = 8
out_channels = 64
height = 128
width = 128
kernel_size = 3
groups = 16


def get_inputs():
    x = torch.rand(batch_size, in_channels, height, width)
    return [x]


def get_init_inputs():
    return [in_channels, out_channels, kernel_size, groups]
