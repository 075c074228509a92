# Triton: tiles above the diagonal are zero, the others skip the terms that are.
# style: triton tiled
# expect: about
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def tril_matmul_kernel(a_ptr, b_ptr, c_ptr, N, B_SIZE: tl.constexpr, BK: tl.constexpr):
    pid_m = tl.program_id(0)
    pid_n = tl.program_id(1)
    rm = pid_m * B_SIZE + tl.arange(0, B_SIZE)
    rn = pid_n * B_SIZE + tl.arange(0, B_SIZE)
    inside = (rm[:, None] < N) & (rn[None, :] < N)
    c_ptrs = c_ptr + rm[:, None] * N + rn[None, :]
    acc = tl.zeros((B_SIZE, B_SIZE), dtype=tl.float32)
    # Terms with col <= k <= row only; the loop is empty above the diagonal.
    start = pid_n * B_SIZE
    stop = tl.minimum((pid_m + 1) * B_SIZE, N)
    for k0 in range(start, stop, BK):
        k = k0 + tl.arange(0, BK)
        a_mask = (rm[:, None] < N) & (k[None, :] < N) & (k[None, :] <= rm[:, None])
        b_mask = (k[:, None] < N) & (rn[None, :] < N) & (rn[None, :] <= k[:, None])
        a = tl.load(a_ptr + rm[:, None] * N + k[None, :], mask=a_mask, other=0.0)
        b = tl.load(b_ptr + k[:, None] * N + rn[None, :], mask=b_mask, other=0.0)
        acc += tl.dot(a, b, input_precision="ieee")
    tl.store(c_ptrs, tl.where(rm[:, None] >= rn[None, :], acc, 0.0), mask=inside)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, A, B):
        A, B = A.contiguous(), B.contiguous()
        N = A.shape[0]
        C = torch.empty_like(A)
        tiles = triton.cdiv(N, 64)
        tril_matmul_kernel[(tiles, tiles)](A, B, C, N, B_SIZE=64, BK=32, num_warps=4)
        return C
