# Triton, one program an output column with strided loads over the whole dimension.
# style: triton, naive
# expect: slower
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def max_kernel(x_ptr, out_ptr, M, N, stride_b, stride_m, stride_n, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    b = pid // N
    n = pid % N
    best = -float("inf")
    for start in range(0, M, BLOCK):
        m = start + tl.arange(0, BLOCK)
        ptrs = x_ptr + b.to(tl.int64) * stride_b + m.to(tl.int64) * stride_m + n * stride_n
        best = tl.maximum(best, tl.max(tl.load(ptrs, mask=m < M, other=-float("inf")), axis=0))
    tl.store(out_ptr + pid, best)


class ModelNew(nn.Module):
    def __init__(self, dim: int):
        super().__init__()
        self.dim = dim

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x.movedim(self.dim, 1)
        B, M, N = x.shape
        out = torch.empty((B, N), device=x.device, dtype=x.dtype)
        max_kernel[(B * N,)](x, out, M, N, x.stride(0), x.stride(1), x.stride(2), BLOCK=1024, num_warps=4)
        return out
