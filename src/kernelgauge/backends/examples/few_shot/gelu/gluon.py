import torch
import torch.nn as nn
import triton
from triton.experimental import gluon
from triton.experimental.gluon import language as gl


@gluon.jit
def bias_gelu_kernel(x_ptr, bias_ptr, y_ptr, count, features, BLOCK: gl.constexpr):
    """One read and one write of each element, four at a time to a thread."""
    layout: gl.constexpr = gl.BlockedLayout([4], [32], [gl.num_warps()], [0])
    offsets = gl.program_id(0).to(gl.int64) * BLOCK + gl.arange(0, BLOCK, layout=layout)
    inside = offsets < count
    x = gl.load(x_ptr + offsets, mask=inside, other=0.0)
    x += gl.load(bias_ptr + offsets % features, mask=inside, other=0.0)
    # 0.5 * (1 + tanh(u)) is 1 / (1 + exp(-2u)): one function call, and nothing cancels where u is far below zero.
    u = 0.7978845608028654 * (x + 0.044715 * x * x * x)
    gl.store(y_ptr + offsets, x / (1.0 + gl.exp(-2.0 * u)), mask=inside)


class ModelNew(nn.Module):
    """Bias and GELU in one pass over memory."""

    def __init__(self, features: int):
        super().__init__()
        self.bias = nn.Parameter(torch.zeros(features))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x.contiguous()
        y = torch.empty_like(x)
        count = x.numel()
        grid = (triton.cdiv(count, 1024),)
        bias_gelu_kernel[grid](x, self.bias, y, count, x.shape[-1], BLOCK=1024, num_warps=4)
        return y


def compile_ahead():
    """The build calls this: nothing is left to compile in the first call."""
    bias_gelu_kernel.warmup(*[torch.float32] * 3, 512000, 1000, BLOCK=1024, num_warps=4, grid=(1,))
