import torch
import torch.nn as nn
import triton
from triton.experimental import gluon
from triton.experimental.gluon import language as gl


@gluon.jit
def bias_relu_kernel(y_ptr, bias_ptr, columns, BLOCK: gl.constexpr):
    """In place on the product, which is cuBLAS's: Gluon has tensor cores for less than float32 alone."""
    layout: gl.constexpr = gl.BlockedLayout([4], [32], [gl.num_warps()], [0])
    column = gl.program_id(0) * BLOCK + gl.arange(0, BLOCK, layout=layout)
    inside = column < columns
    at = y_ptr + gl.program_id(1).to(gl.int64) * columns + column
    value = gl.load(at, mask=inside, other=0.0) + gl.load(bias_ptr + column, mask=inside, other=0.0)
    gl.store(at, gl.maximum(value, 0.0), mask=inside)


class ModelNew(nn.Module):
    def __init__(self, in_features: int, out_features: int, bias_shape: tuple):
        super().__init__()
        self.gemm = nn.Linear(in_features, out_features, bias=False)
        self.bias = nn.Parameter(torch.randn(bias_shape))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = torch.mm(x, self.gemm.weight.t())
        rows, columns = y.shape
        bias_relu_kernel[(triton.cdiv(columns, 2048), rows)](y, self.bias, columns, BLOCK=2048, num_warps=4)
        return y


def compile_ahead():
    bias_relu_kernel.warmup(torch.float32, torch.float32, 8192, BLOCK=2048, num_warps=4, grid=(1,))
