import torch
import torch.nn as nn
import triton
from triton.experimental import gluon
from triton.experimental.gluon import language as gl

WARPS = 4


@gluon.jit
def matmul_kernel(a_ptr, b_ptr, c_ptr, rows, columns, inner, TILE: gl.constexpr, DEPTH: gl.constexpr):
    """One program computes one tile of the output in plain float32, each thread a square of 4 x 4 of it."""
    layout: gl.constexpr = gl.BlockedLayout([4, 4], [4, 8], [gl.num_warps(), 1], [1, 0])
    row = gl.program_id(1).to(gl.int64) * TILE + gl.arange(0, TILE, layout=gl.SliceLayout(1, layout))
    column = gl.program_id(0).to(gl.int64) * TILE + gl.arange(0, TILE, layout=gl.SliceLayout(0, layout))
    a_depth = gl.arange(0, DEPTH, layout=gl.SliceLayout(0, layout))
    b_depth = gl.arange(0, DEPTH, layout=gl.SliceLayout(1, layout))
    total = gl.zeros((TILE, TILE), gl.float32, layout)
    for start in range(0, inner, DEPTH):
        k, l = start + a_depth, start + b_depth
        a_at, b_at = row[:, None] * inner + k[None, :], l[:, None] * columns + column[None, :]
        # What lies over an edge is 0, which adds nothing.
        a = gl.load(a_ptr + a_at, mask=(row[:, None] < rows) & (k[None, :] < inner), other=0.0)
        b = gl.load(b_ptr + b_at, mask=(l[:, None] < inner) & (column[None, :] < columns), other=0.0)
        # The operands go to the threads that multiply them; tensor cores would round float32 to TF32.
        a = gl.convert_layout(a, gl.DotOperandLayout(0, layout, 0))
        b = gl.convert_layout(b, gl.DotOperandLayout(1, layout, 0))
        total = gl.dot_fma(a, b, total)
    inside = (row[:, None] < rows) & (column[None, :] < columns)
    gl.store(c_ptr + row[:, None] * columns + column[None, :], total, mask=inside)


class ModelNew(nn.Module):
    """A matrix product in plain float32, in tiles."""

    def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        a, b = a.contiguous(), b.contiguous()
        rows, inner = a.shape
        columns = b.shape[1]
        c = torch.empty((rows, columns), device=a.device, dtype=a.dtype)
        grid = (triton.cdiv(columns, 64), triton.cdiv(rows, 64))
        matmul_kernel[grid](a, b, c, rows, columns, inner, TILE=64, DEPTH=16, num_warps=WARPS)
        return c


def compile_ahead():
    """The build calls this: nothing is left to compile in the first call."""
    matmul_kernel.warmup(*[torch.float32] * 3, 500, 400, 300, TILE=64, DEPTH=16, num_warps=WARPS, grid=(1,))
