"""A linear layer without bias on tensor cores."""

import torch

from kernelgauge.expert.parts.linear import linear
from kernelgauge.expert.parts.split_gemm import as_it_is


class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.w0 = torch.nn.Parameter(torch.randn(1024, 4096))

    def forward(self, x):
        return linear(x, self.w0, as_it_is)
