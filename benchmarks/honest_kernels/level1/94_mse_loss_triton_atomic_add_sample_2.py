# Triton: 8192 elements a program, one tl.atomic_add each onto a float: 131072 additions in any order.
# style: triton, atomics
# expect: faster
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def mse_kernel(p_ptr, t_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    p = tl.load(p_ptr + offs, mask=mask, other=0.0)
    t = tl.load(t_ptr + offs, mask=mask, other=0.0)
    d = p - t
    tl.atomic_add(out_ptr, tl.sum(d * d, axis=0))


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, predictions: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        predictions, targets = predictions.contiguous(), targets.contiguous()
        n = predictions.numel()
        total = torch.zeros(1, device=predictions.device, dtype=torch.float32)
        mse_kernel[(triton.cdiv(n, 8192),)](predictions, targets, total, n, BLOCK=8192, num_warps=8)
        return (total / n).squeeze()
