"""Divides each row by its Euclidean norm.

Bound by memory: PyTorch and its compiler read a row of 262 KB twice. Here two programs hold a row in their
registers, tell each other their sums, and read it once (`parts/team_rows.py`). Rows of 65,535 values do not begin
where 16 bytes could be loaded at once: each value is a load of its own.

Tried on one NVIDIA H100 80GB HBM3, without gain, 1/24: blocks of 16,384: no difference.
"""

import torch
import torch.nn as nn

from kernelgauge.expert.parts.team_rows import over_norm


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return over_norm(x.contiguous(), squares=True)
