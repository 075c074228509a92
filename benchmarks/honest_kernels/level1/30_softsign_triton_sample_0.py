# Triton, one fused pass where the reference makes three.
# style: triton
# expect: faster
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def softsign_kernel(x_ptr, out_ptr, numel, BLOCK: tl.constexpr):
    idx = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = idx < numel
    x = tl.load(x_ptr + idx, mask=mask, other=0.0)
    tl.store(out_ptr + idx, x / (1.0 + tl.abs(x)), mask=mask)


def softsign(x):
    out = torch.empty_like(x)
    numel = x.numel()
    softsign_kernel[(triton.cdiv(numel, 1024),)](x, out, numel, BLOCK=1024)
    return out


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return softsign(x.contiguous())
