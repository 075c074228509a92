# Triton has no tanh in its core language: 2 * sigmoid(2 x) - 1, as models write it, on a two-dimensional grid.
# style: triton, tiled
# expect: about
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def tanh_kernel(x_ptr, out_ptr, rows, cols, stride_row, BLOCK: tl.constexpr):
    row = tl.program_id(1)
    col_block = tl.program_id(0)
    cols_offs = col_block * BLOCK + tl.arange(0, BLOCK)
    mask = cols_offs < cols
    base = row.to(tl.int64) * stride_row
    x = tl.load(x_ptr + base + cols_offs, mask=mask, other=0.0)
    t = 2.0 * tl.sigmoid(2.0 * x) - 1.0
    tl.store(out_ptr + base + cols_offs, t, mask=mask)


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        assert x.dim() == 2
        x = x.contiguous()
        out = torch.empty_like(x)
        rows, cols = x.shape
        BLOCK = 2048
        tanh_kernel[(triton.cdiv(cols, BLOCK), rows)](x, out, rows, cols, x.stride(0), BLOCK=BLOCK, num_warps=8)
        return out
