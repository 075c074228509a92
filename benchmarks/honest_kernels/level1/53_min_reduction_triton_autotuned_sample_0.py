# Triton, tiles down the dimension, autotuned over four tile shapes.
# style: triton, tiled
# expect: about
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.autotune(
    configs=[
        triton.Config({"BLOCK_M": 16, "BLOCK_N": 128}, num_warps=4),
        triton.Config({"BLOCK_M": 32, "BLOCK_N": 64}, num_warps=4),
        triton.Config({"BLOCK_M": 64, "BLOCK_N": 64}, num_warps=8),
        triton.Config({"BLOCK_M": 8, "BLOCK_N": 256}, num_warps=4),
    ],
    key=["M", "N"],
)
@triton.jit
def min_kernel(x_ptr, y_ptr, M, N, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    b = tl.program_id(1).to(tl.int64)
    n = tl.program_id(0) * BLOCK_N + tl.arange(0, BLOCK_N)
    acc = tl.full((BLOCK_M, BLOCK_N), float("inf"), tl.float32)
    for start in range(0, M, BLOCK_M):
        m = start + tl.arange(0, BLOCK_M)
        mask = (m[:, None] < M) & (n[None, :] < N)
        x = tl.load(x_ptr + b * M * N + m[:, None] * N + n[None, :], mask=mask, other=float("inf"))
        acc = tl.minimum(acc, x)
    tl.store(y_ptr + b * N + n, tl.min(acc, axis=0), mask=n < N)


class ModelNew(nn.Module):
    def __init__(self, dim: int):
        super().__init__()
        self.dim = dim

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        assert self.dim == 1
        x = x.contiguous()
        B, M, N = x.shape
        y = torch.empty((B, N), device=x.device, dtype=x.dtype)
        min_kernel[lambda meta: (triton.cdiv(N, meta["BLOCK_N"]), B)](x, y, M, N)
        return y
