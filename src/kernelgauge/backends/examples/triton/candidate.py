import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def rms_norm_kernel(x_ptr, weight_ptr, y_ptr, columns, eps, BLOCK: tl.constexpr):
    """One program normalises one row, which it reads once and keeps in registers."""
    row = tl.program_id(0).to(tl.int64)  # 64 bits: row * columns passes 2**31 on large tensors
    offsets = tl.arange(0, BLOCK)
    inside = offsets < columns  # BLOCK is a power of two, the row need not be
    x = tl.load(x_ptr + row * columns + offsets, mask=inside, other=0.0)  # 0 adds nothing to the sum
    weight = tl.load(weight_ptr + offsets, mask=inside, other=0.0)
    mean_square = tl.sum(x * x, axis=0) / columns
    y = x * (1.0 / tl.sqrt(mean_square + eps)) * weight
    tl.store(y_ptr + row * columns + offsets, y, mask=inside)


class ModelNew(nn.Module):
    """Square, mean, root, division and weight in one pass over memory."""

    def __init__(self, features: int, eps: float):
        super().__init__()
        self.eps = eps
        # The same parameter as the reference: one seed gives both the same values.
        self.weight = nn.Parameter(torch.ones(features))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x.contiguous()
        y = torch.empty_like(x)  # on the device of the input, whichever that is
        columns = x.shape[-1]
        rows = x.numel() // columns
        block = triton.next_power_of_2(columns)
        rms_norm_kernel[(rows,)](x, self.weight, y, columns, self.eps, BLOCK=block, num_warps=4 if block <= 2048 else 8)
        return y
