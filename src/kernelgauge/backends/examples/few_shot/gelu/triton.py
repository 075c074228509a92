import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def bias_gelu_kernel(x_ptr, bias_ptr, y_ptr, count, features, BLOCK: tl.constexpr):
    """One read and one write of each element."""
    offsets = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < count
    x = tl.load(x_ptr + offsets, mask=inside, other=0.0)
    x += tl.load(bias_ptr + offsets % features, mask=inside, other=0.0)
    # 0.5 * (1 + tanh(u)) is 1 / (1 + exp(-2u)): one function call, and nothing cancels where u is far below zero.
    u = 0.7978845608028654 * (x + 0.044715 * x * x * x)
    tl.store(y_ptr + offsets, x / (1.0 + tl.exp(-2.0 * u)), mask=inside)


class ModelNew(nn.Module):
    """Bias and GELU in one pass over memory."""

    def __init__(self, features: int):
        super().__init__()
        self.bias = nn.Parameter(torch.zeros(features))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x.contiguous()
        y = torch.empty_like(x)
        count = x.numel()
        bias_gelu_kernel[(triton.cdiv(count, 1024),)](x, self.bias, y, count, x.shape[-1], BLOCK=1024)
        return y
