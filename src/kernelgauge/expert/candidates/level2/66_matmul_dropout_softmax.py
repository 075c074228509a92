"""Linear layer, active dropout, softmax over each row.

Bound by the arithmetic of the product, which float32 would do on CUDA cores. Here each operand is two float16
halves and the product three on tensor cores, as precise as float32 (`parts/split_gemm.py`). What follows takes
whole rows, and is a second kernel over rows that still lie in the L2 cache. The dropout is PyTorch's own, so that
it draws what the reference draws.
"""

import torch
import torch.nn as nn

from kernelgauge.expert.parts.linear import linear
from kernelgauge.expert.parts.rows import softmax_rows


class ModelNew(nn.Module):
    def __init__(self, in_features: int, out_features: int, dropout_p: float):
        super().__init__()
        self.matmul = nn.Linear(in_features, out_features)
        self.dropout = nn.Dropout(dropout_p)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = linear(x, self.matmul.weight, tensors=(self.matmul.bias,))
        return softmax_rows(self.dropout(x))
