import torch
import torch.nn as nn
import triton
from triton.experimental import gluon
from triton.experimental.gluon import language as gl


@gluon.jit
def plus(a, b):
    return a + b


@gluon.jit
def cumsum_kernel(x_ptr, y_ptr, length, BLOCK: gl.constexpr):
    """One program a row, a block after the other; it carries what came before."""
    layout: gl.constexpr = gl.BlockedLayout([4], [32], [gl.num_warps()], [0])
    row = gl.program_id(0).to(gl.int64) * length
    offsets = gl.arange(0, BLOCK, layout=layout)
    before = 0.0
    for start in range(0, length, BLOCK):
        inside = start + offsets < length
        x = gl.load(x_ptr + row + start + offsets, mask=inside, other=0.0)
        gl.store(y_ptr + row + start + offsets, gl.associative_scan(x, 0, plus) + before, mask=inside)
        before += gl.sum(x, axis=0)


class ModelNew(nn.Module):
    def __init__(self, dim: int):
        super().__init__()
        assert dim == 1, "written for rows of a matrix"

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x.contiguous()
        y = torch.empty_like(x)
        cumsum_kernel[(x.shape[0],)](x, y, x.shape[1], BLOCK=4096, num_warps=8)
        return y


def compile_ahead():
    cumsum_kernel.warmup(torch.float32, torch.float32, 32768, BLOCK=4096, num_warps=8, grid=(1,))
