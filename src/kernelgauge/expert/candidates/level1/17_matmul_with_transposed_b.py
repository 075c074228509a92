"""Product with the second matrix stored transposed: (M, K) @ (N, K)^T -> (M, N).

Bound by arithmetic, which float32 would do on CUDA cores. Here each operand is two float16 halves and the product
three on tensor cores, as precise as float32 (`parts/split_gemm.py`).
Its operands are split by two kernels that are bound by memory, and take a tenth of the time.

Tried on one NVIDIA H100 80GB HBM3, without gain, 1/1: operands split in registers: 226 % more time; 2 stages: 40 %
more time; the whole depth added up on tensor cores: wrong precision.
"""

import torch
import torch.nn as nn

from kernelgauge.expert.parts.split_gemm import product, split


class ModelNew(nn.Module):
    def forward(self, A: torch.Tensor, B: torch.Tensor) -> torch.Tensor:
        return product(split(A), split(B)).squeeze(0)
