# Triton: 64 columns a program, row by row, value and index of the best in registers.
# style: triton, naive
# expect: slower
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def argmax_kernel(x_ptr, out_ptr, M, N, BLOCK_N: tl.constexpr):
    b = tl.program_id(1).to(tl.int64)
    n = tl.program_id(0) * BLOCK_N + tl.arange(0, BLOCK_N)
    mask = n < N
    base = x_ptr + b * M * N
    best = tl.load(base + n, mask=mask, other=-float("inf"))
    index = tl.zeros((BLOCK_N,), dtype=tl.int64)
    for m in range(1, M):
        v = tl.load(base + m * N + n, mask=mask, other=-float("inf"))
        better = v > best
        best = tl.where(better, v, best)
        index = tl.where(better, m, index)
    tl.store(out_ptr + b * N + n, index, mask=mask)


class ModelNew(nn.Module):
    def __init__(self, dim: int):
        super().__init__()
        self.dim = dim

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        assert self.dim == 1 and x.dim() == 3
        x = x.contiguous()
        B, M, N = x.shape
        out = torch.empty((B, N), device=x.device, dtype=torch.int64)
        argmax_kernel[(triton.cdiv(N, 64), B)](x, out, M, N, BLOCK_N=64, num_warps=2)
        return out
