import math

import torch
import torch.nn as nn
from numba import cuda, float32

THREADS = 256


@cuda.jit
def bias_gelu_kernel(x, bias, y):
    """One read and one write of each element; a thread takes every so many-th, whatever the size of the grid."""
    for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
        value = x[i] + bias[i % bias.size]
        # 0.5 * (1 + tanh(u)) is 1 / (1 + exp(-2u)): nothing cancels where u is far below zero, nor does exp overflow.
        # Constants of Python are float64, which is slow here, and so would be all that is computed with one.
        u = float32(0.7978845608028654) * (value + float32(0.044715) * value * value * value)
        e = math.exp(float32(-2.0) * abs(u))
        y[i] = value * (float32(1.0) if u > 0 else e) / (float32(1.0) + e)


def flat(tensor):
    tensor = tensor.detach().reshape(-1)
    return cuda.as_cuda_array(tensor) if tensor.is_cuda else tensor.numpy()


class ModelNew(nn.Module):
    """Bias and GELU in one pass over memory."""

    def __init__(self, features: int):
        super().__init__()
        self.bias = nn.Parameter(torch.zeros(features))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x.contiguous()
        y = torch.empty_like(x)
        # The simulator on a CPU starts a thread of Python for each of these: few there.
        threads, blocks = (THREADS, min(-(-x.numel() // THREADS), 4096)) if x.is_cuda else (8, 1)
        stream = cuda.external_stream(torch.cuda.current_stream().cuda_stream) if x.is_cuda else 0
        bias_gelu_kernel[blocks, threads, stream](flat(x), flat(self.bias), flat(y))
        return y
