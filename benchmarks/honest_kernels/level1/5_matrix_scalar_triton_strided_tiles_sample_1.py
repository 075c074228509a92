# Triton over tiles of 32 by 128 with the strides of both matrices as arguments.
# style: triton, tiled
# expect: about
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def scale_kernel(
    a_ptr, c_ptr, scalar, M, N, stride_am, stride_an, stride_cm, stride_cn, BM: tl.constexpr, BN: tl.constexpr
):
    rows = (tl.program_id(0) * BM + tl.arange(0, BM)).to(tl.int64)
    cols = tl.program_id(1) * BN + tl.arange(0, BN)
    mask = (rows[:, None] < M) & (cols[None, :] < N)
    a = tl.load(a_ptr + rows[:, None] * stride_am + cols[None, :] * stride_an, mask=mask, other=0.0)
    tl.store(c_ptr + rows[:, None] * stride_cm + cols[None, :] * stride_cn, a * scalar, mask=mask)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, A: torch.Tensor, s: float) -> torch.Tensor:
        C = torch.empty_like(A)
        M, N = A.shape
        grid = (triton.cdiv(M, 32), triton.cdiv(N, 128))
        scale_kernel[grid](
            A, C, s, M, N, A.stride(0), A.stride(1), C.stride(0), C.stride(1), BM=32, BN=128, num_warps=4
        )
        return C
