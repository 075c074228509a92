# Triton launched on eight chunks of the batch one after the other, each by PyTorch's slices.
# style: triton, several_launches
# expect: about
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def selu_kernel(x_ptr, y_ptr, n, ALPHA: tl.constexpr, SCALE: tl.constexpr, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask, other=0.0)
    negative = ALPHA * (tl.exp(tl.minimum(x, 0.0)) - 1.0)
    y = SCALE * tl.where(x > 0, x, negative)
    tl.store(y_ptr + offsets, y, mask=mask)


class ModelNew(nn.Module):
    ALPHA = 1.6732632423543772
    SCALE = 1.0507009873554805

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x.contiguous()
        y = torch.empty_like(x)
        for x_part, y_part in zip(x.chunk(8), y.chunk(8), strict=True):
            n = x_part.numel()
            selu_kernel[(triton.cdiv(n, 1024),)](x_part, y_part, n, self.ALPHA, self.SCALE, BLOCK=1024)
        return y
