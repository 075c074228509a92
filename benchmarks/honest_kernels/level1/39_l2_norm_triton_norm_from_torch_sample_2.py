# PyTorch sums the squares of its own temporary; Triton only divides, a tile of four rows at a time.
# style: triton, library
# expect: slower
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def divide_kernel(x_ptr, norm_ptr, y_ptr, rows, cols, ROWS: tl.constexpr, COLS: tl.constexpr):
    r = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    c = tl.program_id(1) * COLS + tl.arange(0, COLS)
    mask = (r < rows)[:, None] & (c < cols)[None, :]
    norm = tl.load(norm_ptr + r, mask=r < rows, other=1.0)
    offsets = r.to(tl.int64)[:, None] * cols + c[None, :]
    x = tl.load(x_ptr + offsets, mask=mask, other=0.0)
    tl.store(y_ptr + offsets, x / norm[:, None], mask=mask)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x.contiguous()
        norm = torch.sqrt((x * x).sum(dim=1))
        y = torch.empty_like(x)
        rows, cols = x.shape
        divide_kernel[(triton.cdiv(rows, 4), triton.cdiv(cols, 512))](x, norm, y, rows, cols, ROWS=4, COLS=512)
        return y
