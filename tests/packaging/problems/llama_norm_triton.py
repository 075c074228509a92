"""A row for each program, in Triton."""

import torch
import triton
import triton.language as tl


@triton.jit
def rms_norm(x, weight, y, width, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    at = tl.arange(0, BLOCK)
    inside = at < width
    values = tl.load(x + row * width + at, mask=inside, other=0.0)
    scale = 1.0 / tl.sqrt(tl.sum(values * values, 0) / width + eps)
    gain = tl.load(weight + at, mask=inside, other=0.0)
    tl.store(y + row * width + at, gain * (values * scale), mask=inside)


class ModelNew(torch.nn.Module):
    def __init__(self, width, eps):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(width))
        self.eps = eps

    def forward(self, hidden):
        out = torch.empty_like(hidden)
        width = hidden.shape[-1]
        rows = hidden.numel() // width
        rms_norm[(rows,)](hidden, self.weight, out, width, self.eps, BLOCK=triton.next_power_of_2(width))
        return out
