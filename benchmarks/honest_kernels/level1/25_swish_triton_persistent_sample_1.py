# Triton with a fixed number of programs, each of which walks over the tensor in steps of the whole grid.
# style: triton
# expect: faster
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def swish_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    step = tl.num_programs(0) * BLOCK
    for start in range(pid * BLOCK, n, step):
        offsets = start + tl.arange(0, BLOCK)
        mask = offsets < n
        x = tl.load(x_ptr + offsets, mask=mask, other=0.0)
        y = x / (1.0 + tl.exp(-x))
        tl.store(y_ptr + offsets, y, mask=mask)


class ModelNew(nn.Module):
    """Swish with one fused Triton kernel."""

    def __init__(self):
        super().__init__()
        self.block = 2048
        self.programs = 1056

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x.contiguous()
        y = torch.empty_like(x)
        n = x.numel()
        grid = (min(self.programs, triton.cdiv(n, self.block)),)
        swish_kernel[grid](x, y, n, BLOCK=self.block, num_warps=8)
        return y
