"""Matrix product with a very long contracted dimension: (M, K) @ (K, N) -> (M, N).

Bound by arithmetic, which float32 would do on CUDA cores. Here each operand is two float16 halves and the product
three on tensor cores, as precise as float32. They are split in registers: there are so few tiles that each operand is
read twice or less, and a pass that splits it beforehand costs more (`parts/gemm_in_registers.py`).
There are few tiles and a long depth: several programs share the depth of a tile, and a second kernel adds up.

Tried on one NVIDIA H100 80GB HBM3, without gain, 1/6: operands split by a pass of their own: 39 % more time; steps of
32 and 3 stages: 26 % more time; three products of TF32, one pass: 67 % more time.
"""

import torch
import torch.nn as nn

from kernelgauge.expert.parts.gemm_in_registers import product


class ModelNew(nn.Module):
    def forward(self, A: torch.Tensor, B: torch.Tensor) -> torch.Tensor:
        return product(A, B)
