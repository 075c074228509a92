# Triton: tiles of 32 rows by 128 columns, summed down the rows, one program for 128 columns of a sample.
# style: triton, tiled
# expect: about
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def mean_kernel(x_ptr, y_ptr, R, C, BLOCK_R: tl.constexpr, BLOCK_C: tl.constexpr):
    batch = tl.program_id(0).to(tl.int64)
    cols = tl.program_id(1) * BLOCK_C + tl.arange(0, BLOCK_C)
    rows = tl.arange(0, BLOCK_R)
    base = x_ptr + batch * R * C
    acc = tl.zeros((BLOCK_C,), dtype=tl.float32)
    for r in range(0, R, BLOCK_R):
        mask = ((r + rows) < R)[:, None] & (cols < C)[None, :]
        tile = tl.load(base + (r + rows)[:, None] * C + cols[None, :], mask=mask, other=0.0)
        acc += tl.sum(tile, axis=0)
    tl.store(y_ptr + batch * C + cols, acc / R, mask=cols < C)


class ModelNew(nn.Module):
    def __init__(self, dim: int):
        super().__init__()
        self.dim = dim
        assert dim == 1

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x.contiguous()
        B, R, C = x.shape
        y = torch.empty((B, C), device=x.device, dtype=x.dtype)
        mean_kernel[(B, triton.cdiv(C, 128))](x, y, R, C, BLOCK_R=32, BLOCK_C=128)
        return y
