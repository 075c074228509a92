import torch
import torch.nn as nn
import triton
from triton.experimental import gluon
from triton.experimental.gluon import language as gl


@gluon.jit
def gelu_kernel(x_ptr, y_ptr, count, BLOCK: gl.constexpr):
    layout: gl.constexpr = gl.BlockedLayout([4], [32], [gl.num_warps()], [0])
    offsets = gl.program_id(0).to(gl.int64) * BLOCK + gl.arange(0, BLOCK, layout=layout)
    inside = offsets < count
    x = gl.load(x_ptr + offsets, mask=inside, other=0.0)
    # 0.5 * (1 + tanh(u)) is 1 / (1 + exp(-2u)).
    u = 0.7978845608028654 * (x + 0.044715 * x * x * x)
    gl.store(y_ptr + offsets, x / (1.0 + gl.exp(-2.0 * u)), mask=inside)


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x.contiguous()
        y = torch.empty_like(x)
        gelu_kernel[(triton.cdiv(x.numel(), 2048),)](x, y, x.numel(), BLOCK=2048, num_warps=4)
        return y


def compile_ahead():
    gelu_kernel.warmup(torch.float32, torch.float32, 8192 * 8192, BLOCK=2048, num_warps=4, grid=(1,))
