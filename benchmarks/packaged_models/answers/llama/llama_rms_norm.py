"""A row for each program, read once."""

import torch
import triton
import triton.language as tl


@triton.jit
def rms_norm(x, weight, y, width, eps, block: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    at = tl.arange(0, block)
    inside = at < width
    values = tl.load(x + row * width + at, mask=inside, other=0.0)
    scale = 1.0 / tl.sqrt(tl.sum(values * values, 0) / width + eps)
    gain = tl.load(weight + at, mask=inside, other=0.0)
    tl.store(y + row * width + at, gain * (values * scale), mask=inside)


class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.w0 = torch.nn.Parameter(torch.ones(4096))

    def forward(self, x):
        y = torch.empty_like(x)
        rms_norm[(x.numel() // 4096,)](x, self.w0, y, 4096, 1e-6, block=4096, num_warps=8)
        return y
