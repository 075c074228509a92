import tilelang
import tilelang.language as T
import torch
import torch.nn as nn


@tilelang.jit
def residual_kernel(rows, columns, block_rows=4, block_columns=256, dtype="float32"):
    """Compiled once for each pair of sizes. No target is named: it is the GPU at hand, or C on a CPU."""

    @T.prim_func
    def residual(
        x: T.Tensor((rows, columns), dtype),
        branch: T.Tensor((rows, columns), dtype),
        gain: T.Tensor((columns,), dtype),
        y: T.Tensor((rows, columns), dtype),
    ):
        with T.Kernel(T.ceildiv(columns, block_columns), T.ceildiv(rows, block_rows), threads=128) as (bx, by):
            # Neighbouring threads get neighbouring columns, and what lies over the edge is left out.
            for i, j in T.Parallel(block_rows, block_columns):
                row = by * block_rows + i
                column = bx * block_columns + j
                if row < rows and column < columns:
                    y[row, column] = x[row, column] + branch[row, column] * gain[column]

    return residual


class ModelNew(nn.Module):
    """A residual sum in one pass over memory."""

    def __init__(self, features: int):
        super().__init__()
        # The same parameters in the same order as the reference: one seed gives both the same values.
        self.gain = nn.Parameter(torch.ones(features))

    def forward(self, x: torch.Tensor, branch: torch.Tensor) -> torch.Tensor:
        x, branch = x.contiguous(), branch.contiguous()
        y = torch.empty_like(x)
        residual_kernel(x.numel() // x.shape[-1], x.shape[-1])(x, branch, self.gain.detach(), y)
        return y


def compile_ahead():
    """The build calls this, where no GPU is: what is compiled for the sizes of the problem is no wait in the first call."""
    residual_kernel(512, 1000)
