# Triton, one program a row of 393216 columns with one warp: a long loop in few programs.
# style: triton, naive
# expect: slower
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def elu_row_kernel(x_ptr, y_ptr, n_cols, alpha, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    x_row = x_ptr + row * n_cols
    y_row = y_ptr + row * n_cols
    for start in range(0, n_cols, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        mask = cols < n_cols
        x = tl.load(x_row + cols, mask=mask, other=0.0)
        y = tl.where(x > 0, x, alpha * (tl.exp(x) - 1.0))
        tl.store(y_row + cols, y, mask=mask)


class ModelNew(nn.Module):
    def __init__(self, alpha: float = 1.0):
        super().__init__()
        self.alpha = alpha

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x.contiguous()
        y = torch.empty_like(x)
        elu_row_kernel[(x.shape[0],)](x, y, x.shape[1], self.alpha, BLOCK=128, num_warps=1)
        return y
