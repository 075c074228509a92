# Triton finds one distance a launch, a program a row; margin and mean are PyTorch's.
# style: triton, library, several_launches
# expect: about
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def distance_kernel(x_ptr, y_ptr, d_ptr, n_cols, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    base = row.to(tl.int64) * n_cols
    total = 0.0
    for start in range(0, n_cols, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        mask = cols < n_cols
        x = tl.load(x_ptr + base + cols, mask=mask, other=0.0)
        y = tl.load(y_ptr + base + cols, mask=mask, other=0.0)
        diff = tl.where(mask, x - y + eps, 0.0)
        total += tl.sum(diff * diff, axis=0)
    tl.store(d_ptr + row, tl.sqrt(total))


def distance(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    d = torch.empty(x.shape[0], device=x.device, dtype=x.dtype)
    distance_kernel[(x.shape[0],)](x, y, d, x.shape[1], 1e-6, BLOCK=1024)
    return d


class ModelNew(nn.Module):
    def __init__(self, margin: float = 1.0):
        super().__init__()
        self.margin = margin

    def forward(self, anchor: torch.Tensor, positive: torch.Tensor, negative: torch.Tensor) -> torch.Tensor:
        anchor, positive, negative = anchor.contiguous(), positive.contiguous(), negative.contiguous()
        losses = distance(anchor, positive) - distance(anchor, negative) + self.margin
        return torch.clamp(losses, min=0.0).mean()
