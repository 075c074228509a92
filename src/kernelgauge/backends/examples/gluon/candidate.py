import torch
import torch.nn as nn
import triton
from triton.experimental import gluon
from triton.experimental.gluon import language as gl

WARPS = 4


@gluon.jit
def rms_norm_kernel(x_ptr, weight_ptr, y_ptr, columns, eps, BLOCK: gl.constexpr):
    """One program normalises one row, which it reads once and keeps in registers."""
    # Four neighbouring elements to a thread, which are one access of 16 bytes, and a warp's next to each other.
    layout: gl.constexpr = gl.BlockedLayout([4], [32], [gl.num_warps()], [0])
    row = gl.program_id(0).to(gl.int64)  # 64 bits: row * columns passes 2**31 on large tensors
    offsets = gl.arange(0, BLOCK, layout=layout)
    inside = offsets < columns  # BLOCK is a power of two, the row need not be
    x = gl.load(x_ptr + row * columns + offsets, mask=inside, other=0.0)  # 0 adds nothing to the sum
    weight = gl.load(weight_ptr + offsets, mask=inside, other=0.0)
    mean_square = gl.sum(x * x, axis=0) / columns
    y = x * (1.0 / gl.sqrt(mean_square + eps)) * weight
    gl.store(y_ptr + row * columns + offsets, y, mask=inside)


class ModelNew(nn.Module):
    """Square, mean, root, division and weight in one pass over memory."""

    def __init__(self, features: int, eps: float):
        super().__init__()
        self.eps = eps
        # The same parameter as the reference: one seed gives both the same values.
        self.weight = nn.Parameter(torch.ones(features))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x.contiguous()
        y = torch.empty_like(x)
        columns = x.shape[-1]
        rows = x.numel() // columns
        block = max(128 * WARPS, triton.next_power_of_2(columns))  # every thread of the layout has its four elements
        rms_norm_kernel[(rows,)](x, self.weight, y, columns, self.eps, BLOCK=block, num_warps=WARPS)
        return y


def compile_ahead():
    """The build calls this, where no GPU is: what is compiled for the sizes of the problem is no wait in the first call."""
    tensors = [torch.float32] * 3
    rms_norm_kernel.warmup(*tensors, 1000, 1e-5, BLOCK=1024, num_warps=WARPS, grid=(1,))
