# Triton: a partial sum of squares for every 8192 elements, torch.sum over them, and a kernel that multiplies.
# style: triton, library, several_launches
# expect: faster
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def squares_kernel(x_ptr, partial_ptr, n, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    offs = pid.to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs, mask=offs < n, other=0.0)
    tl.store(partial_ptr + pid, tl.sum(x * x, axis=0))


@triton.jit
def scale_kernel(x_ptr, inverse_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    inverse = tl.load(inverse_ptr)
    x = tl.load(x_ptr + offs, mask=mask, other=0.0)
    tl.store(y_ptr + offs, x * inverse, mask=mask)


class ModelNew(nn.Module):
    BLOCK = 8192

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x.contiguous()
        n = x.numel()
        blocks = triton.cdiv(n, self.BLOCK)
        partial = torch.empty(blocks, device=x.device, dtype=torch.float32)
        squares_kernel[(blocks,)](x, partial, n, BLOCK=self.BLOCK, num_warps=8)
        inverse = partial.sum().rsqrt()
        y = torch.empty_like(x)
        scale_kernel[(blocks,)](x, inverse, y, n, BLOCK=self.BLOCK, num_warps=8)
        return y
