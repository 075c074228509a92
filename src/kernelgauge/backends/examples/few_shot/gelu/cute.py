import cuda.bindings.driver as driver
import cutlass
import cutlass.cute as cute
import torch
import torch.nn as nn
from cutlass.cute.runtime import from_dlpack

THREADS = 256


@cute.kernel
def bias_gelu_kernel(x: cute.Tensor, bias: cute.Tensor, y: cute.Tensor, columns: cutlass.Int32):
    """One read and one write of each element."""
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    i = block * THREADS + thread
    if i < cute.size(x):
        value = x[i] + bias[i % columns]
        # 0.5 * (1 + tanh(u)) is 1 / (1 + exp(-2u)): one function call, and nothing cancels where u is far below zero.
        u = 0.7978845608028654 * (value + 0.044715 * value * value * value)
        y[i] = value / (1.0 + cute.math.exp(-2.0 * u))


@cute.jit
def bias_gelu(
    x: cute.Tensor, bias: cute.Tensor, y: cute.Tensor, columns: cutlass.Int32, stream: driver.CUstream
):
    blocks = cute.ceil_div(cute.size(x), THREADS)
    bias_gelu_kernel(x, bias, y, columns).launch(grid=(blocks, 1, 1), block=(THREADS, 1, 1), stream=stream)


def flat(tensor):
    return from_dlpack(tensor.detach().reshape(-1), assumed_align=16)


class ModelNew(nn.Module):
    """Bias and GELU in one pass over memory."""

    def __init__(self, features: int):
        super().__init__()
        self.bias = nn.Parameter(torch.zeros(features))
        self.compiled = {}

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x.contiguous()
        y = torch.empty_like(x)
        stream = driver.CUstream(torch.cuda.current_stream().cuda_stream)
        arguments = (flat(x), flat(self.bias), flat(y), cutlass.Int32(x.shape[-1]), stream)
        if x.shape not in self.compiled:
            self.compiled[x.shape] = cute.compile(bias_gelu, *arguments)
        self.compiled[x.shape](*arguments)
        return y
