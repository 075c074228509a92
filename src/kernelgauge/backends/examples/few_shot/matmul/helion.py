import helion
import helion.language as hl
import torch
import torch.nn as nn


# Without dot_precision a float32 product would be TF32, which has three digits.
@helion.kernel(
    config=helion.Config(block_sizes=[64, 64, 32], num_warps=4, num_stages=3), static_shapes=True, dot_precision="ieee"
)
def matmul(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """The outer loop becomes the grid, the inner one a loop in each program over the inner dimension."""
    c = torch.empty([a.size(0), b.size(1)], device=a.device, dtype=a.dtype)
    for row, column in hl.tile([a.size(0), b.size(1)]):
        total = hl.zeros([row, column], dtype=torch.float32)
        for inner in hl.tile(a.size(1)):
            total = hl.dot(a[row, inner], b[inner, column], acc=total)
        c[row, column] = total
    return c


class ModelNew(nn.Module):
    """A matrix product in plain float32, in tiles."""

    def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return matmul(a.contiguous(), b.contiguous())
