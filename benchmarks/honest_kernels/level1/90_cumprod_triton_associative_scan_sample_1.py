# Triton's associative_scan with a product, block by block with a carry.
# style: triton
# expect: slower
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def multiply(a, b):
    return a * b


@triton.jit
def cumprod_kernel(x_ptr, y_ptr, n_cols, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    offs = tl.arange(0, BLOCK)
    carry = 1.0
    for start in range(0, n_cols, BLOCK):
        mask = start + offs < n_cols
        x = tl.load(x_ptr + row * n_cols + start + offs, mask=mask, other=1.0)
        x = tl.where(offs == 0, x * carry, x)
        scanned = tl.associative_scan(x, 0, multiply)
        tl.store(y_ptr + row * n_cols + start + offs, scanned, mask=mask)
        carry = tl.sum(tl.where(offs == BLOCK - 1, scanned, 0.0), axis=0)


class ModelNew(nn.Module):
    def __init__(self, dim: int):
        super().__init__()
        self.dim = dim

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        assert self.dim in (1, -1)
        x = x.contiguous()
        y = torch.empty_like(x)
        cumprod_kernel[(x.shape[0],)](x, y, x.shape[1], BLOCK=1024)
        return y
