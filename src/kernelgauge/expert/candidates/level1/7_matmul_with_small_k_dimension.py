"""Matrix product with a short contracted dimension: (M, K) @ (K, N) -> (M, N).

Bound by arithmetic, which float32 would do on CUDA cores. Here each operand is two float16 halves and the product
three on tensor cores, as precise as float32 (`parts/split_gemm.py`).
The depth is short: what is written, 4.3 GB, takes longer than the arithmetic.

Tried on one NVIDIA H100 80GB HBM3, without gain, 1/7: 1 stage: more programs at once: 6 % more time; operands split
in registers, tiles of 64 by 256: 49 % more time.
"""

import torch
import torch.nn as nn

from kernelgauge.expert.parts.split_gemm import product, split


class ModelNew(nn.Module):
    def forward(self, A: torch.Tensor, B: torch.Tensor) -> torch.Tensor:
        return product(split(A), split(B.T)).squeeze(0)
