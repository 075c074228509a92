"""Instance normalisation: statistics per sample and feature over (dim1, dim2), no parameters.

Bound by memory: PyTorch and its compiler read each plane twice, once for its statistics. Here eight programs hold a
plane of a megabyte in their registers, tell each other what they found, and read it once (`parts/teams.py`).

Tried on one NVIDIA H100 80GB HBM3, without gain, 1/40: two launches, each reads all, blocks of 32,768: 16 % more
time.
"""

import torch
import torch.nn as nn

from kernelgauge.expert.parts.teams import normalised


class ModelNew(nn.Module):
    def __init__(self, num_features: int):
        super().__init__()
        self.inorm = nn.InstanceNorm2d(num_features)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return normalised(x.contiguous(), x.shape[0] * x.shape[1], self.inorm.eps)
