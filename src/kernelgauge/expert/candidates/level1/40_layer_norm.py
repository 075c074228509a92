"""Layer normalisation over every dimension but the first, with elementwise weight and bias.

Bound by memory: PyTorch gives each of the sixteen samples to one block, and its compiler reads each twice. Here 128
programs hold a sample of 17 megabytes in their registers, tell each other what they found, and read it once
(`parts/teams.py`). Weight and bias come from the L2 cache after the first sample.

Tried on one NVIDIA H100 80GB HBM3, without gain, 1/40: two launches, each reads all, blocks of 32,768: 16 % more
time.
"""

import torch
import torch.nn as nn

from kernelgauge.expert.parts.teams import normalised


class ModelNew(nn.Module):
    def __init__(self, normalized_shape: tuple):
        super().__init__()
        self.ln = nn.LayerNorm(normalized_shape=normalized_shape)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        rows = x.numel() // self.ln.weight.numel()
        return normalised(x.contiguous(), rows, self.ln.eps, self.ln.weight, self.ln.bias)
