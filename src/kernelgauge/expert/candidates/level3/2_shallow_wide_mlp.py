"""Multilayer perceptron: a ReLU after every linear layer but the last.

Bound by the arithmetic of 128 rows, and nearly as much by reading the weights, which happens once
(`parts/skinny.py`). Each operand is two float16 halves, and the product three on tensor cores, as precise as
float32.

Tried on one NVIDIA H100 80GB HBM3, without gain, 3/1: weights split beforehand: 116 % more time; 2 stages: 57 % more
time.
"""

import torch
import torch.nn as nn
import triton
import triton.language as tl

from kernelgauge.expert.parts.linear import linear
from kernelgauge.expert.parts.split_gemm import plus_bias


@triton.jit
def activated(value, rows, cols, columns, p0, p1, p2, s0, s1, s2):
    return tl.maximum(value + tl.load(p0 + cols)[None, :], 0.0)


class ModelNew(nn.Module):
    def __init__(self, input_size: int, hidden_layer_sizes: list, output_size: int):
        super().__init__()
        layers = []
        width = input_size
        for size in hidden_layer_sizes:
            layers.append(nn.Linear(width, size))
            layers.append(nn.ReLU())
            width = size
        layers.append(nn.Linear(width, output_size))
        self.network = nn.Sequential(*layers)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        layers = [layer for layer in self.network if isinstance(layer, nn.Linear)]
        for layer in layers:
            x = linear(x, layer.weight, plus_bias if layer is layers[-1] else activated, (layer.bias,))
        return x
