import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def sum_kernel(x_ptr, y_ptr, length, columns, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    """One program adds up 128 columns, 32 rows at a time; rows are added to each other once, at the end."""
    column = tl.program_id(0) * COLUMNS + tl.arange(0, COLUMNS)
    row = tl.arange(0, ROWS)
    first = x_ptr + tl.program_id(1).to(tl.int64) * length * columns
    offsets = row[:, None] * columns + column[None, :]
    total = tl.zeros((ROWS, COLUMNS), tl.float32)
    for start in range(0, length, ROWS):
        inside = (start + row < length)[:, None] & (column < columns)[None, :]
        total += tl.load(first + start * columns + offsets, mask=inside, other=0.0)
    to = y_ptr + tl.program_id(1).to(tl.int64) * columns + column
    tl.store(to, tl.sum(total, axis=0), mask=column < columns)


class ModelNew(nn.Module):
    def __init__(self, dim: int):
        super().__init__()
        assert dim == 1, "written for the middle dimension of three"

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, length, columns = x.shape
        y = torch.empty(batch, 1, columns, dtype=x.dtype, device=x.device)
        grid = (triton.cdiv(columns, 128), batch)
        sum_kernel[grid](x.contiguous(), y, length, columns, ROWS=32, COLUMNS=128, num_warps=4)
        return y


def compile_ahead():
    sum_kernel.warmup(torch.float32, torch.float32, 4096, 4095, ROWS=32, COLUMNS=128, num_warps=4, grid=(1,))
