"""1/12 in Triton: one program scales a part of one row, so that it has no division to find its row."""

import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def scale_rows(diagonal_ptr, x_ptr, y_ptr, columns, BLOCK: tl.constexpr):
    row = tl.program_id(1).to(tl.int64)
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * columns + at, mask=at < columns)
    tl.store(y_ptr + row * columns + at, tl.load(diagonal_ptr + row) * x, mask=at < columns)


class ModelNew(nn.Module):
    def forward(self, A: torch.Tensor, B: torch.Tensor) -> torch.Tensor:
        y = torch.empty_like(B, memory_format=torch.contiguous_format)
        rows, columns = B.shape
        scale_rows[triton.cdiv(columns, 4096), rows](
            A.contiguous(), B.contiguous(), y, columns, BLOCK=4096, num_warps=8
        )
        return y
