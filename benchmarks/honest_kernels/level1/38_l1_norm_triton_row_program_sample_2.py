# Triton, one program a row, scalar running sum over blocks of 1024.
# style: triton
# expect: faster
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def l1_norm_kernel(x_ptr, y_ptr, stride, n_cols, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    x_row = x_ptr + row * stride
    y_row = y_ptr + row * stride
    total = 0.0
    for i in range(0, n_cols, BLOCK):
        cols = i + tl.arange(0, BLOCK)
        x = tl.load(x_row + cols, mask=cols < n_cols, other=0.0)
        total += tl.sum(tl.abs(x), axis=0)
    mean = total / n_cols
    for i in range(0, n_cols, BLOCK):
        cols = i + tl.arange(0, BLOCK)
        mask = cols < n_cols
        x = tl.load(x_row + cols, mask=mask, other=0.0)
        tl.store(y_row + cols, x / mean, mask=mask)


class ModelNew(nn.Module):
    def __init__(self):
        super(ModelNew, self).__init__()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x.contiguous()
        y = torch.empty_like(x)
        l1_norm_kernel[(x.shape[0],)](x, y, x.stride(0), x.shape[1], BLOCK=1024)
        return y
