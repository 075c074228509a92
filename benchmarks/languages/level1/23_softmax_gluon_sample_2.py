import torch
import torch.nn as nn
import triton
from triton.experimental import gluon
from triton.experimental.gluon import language as gl


@gluon.jit
def softmax_kernel(x_ptr, y_ptr, columns, BLOCK: gl.constexpr):
    """One program a row, which it reads twice: it is too long for registers."""
    layout: gl.constexpr = gl.BlockedLayout([4], [32], [gl.num_warps()], [0])
    row = gl.program_id(0).to(gl.int64) * columns
    offsets = gl.arange(0, BLOCK, layout=layout)
    # A maximum and a sum for each place of the block, merged once at the end.
    largest = gl.full([BLOCK], -3.0e38, gl.float32, layout=layout)
    total = gl.zeros([BLOCK], gl.float32, layout=layout)
    for start in range(0, columns, BLOCK):
        x = gl.load(x_ptr + row + start + offsets, mask=start + offsets < columns, other=-float("inf"))
        larger = gl.maximum(largest, x)
        total = total * gl.exp(largest - larger) + gl.exp(x - larger)
        largest = larger
    most = gl.max(largest, axis=0)
    scale = 1.0 / gl.sum(total * gl.exp(largest - most), axis=0)
    for start in range(0, columns, BLOCK):
        inside = start + offsets < columns
        x = gl.load(x_ptr + row + start + offsets, mask=inside, other=0.0)
        gl.store(y_ptr + row + start + offsets, gl.exp(x - most) * scale, mask=inside)


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x.contiguous()
        y = torch.empty_like(x)
        softmax_kernel[(x.shape[0],)](x, y, x.shape[1], BLOCK=8192, num_warps=16)
        return y


def compile_ahead():
    softmax_kernel.warmup(torch.float32, torch.float32, 393216, BLOCK=8192, num_warps=16, grid=(1,))
