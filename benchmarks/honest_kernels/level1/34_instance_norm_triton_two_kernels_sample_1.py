# Triton: a kernel for mean and reciprocal deviation of each plane, and one over blocks of it that writes.
# style: triton, several_launches
# expect: about
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def stats_kernel(x_ptr, mean_ptr, rstd_ptr, size, eps, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    base = x_ptr + pid.to(tl.int64) * size
    total = 0.0
    for start in range(0, size, BLOCK):
        offs = start + tl.arange(0, BLOCK)
        total += tl.sum(tl.load(base + offs, mask=offs < size, other=0.0), axis=0)
    mean = total / size
    squares = 0.0
    for start in range(0, size, BLOCK):
        offs = start + tl.arange(0, BLOCK)
        mask = offs < size
        diff = tl.where(mask, tl.load(base + offs, mask=mask, other=0.0) - mean, 0.0)
        squares += tl.sum(diff * diff, axis=0)
    tl.store(mean_ptr + pid, mean)
    tl.store(rstd_ptr + pid, 1.0 / tl.sqrt(squares / size + eps))


@triton.jit
def apply_kernel(x_ptr, y_ptr, mean_ptr, rstd_ptr, size, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    offs = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < size
    base = pid.to(tl.int64) * size
    x = tl.load(x_ptr + base + offs, mask=mask)
    y = (x - tl.load(mean_ptr + pid)) * tl.load(rstd_ptr + pid)
    tl.store(y_ptr + base + offs, y, mask=mask)


class ModelNew(nn.Module):
    def __init__(self, num_features: int):
        super().__init__()
        self.inorm = nn.InstanceNorm2d(num_features)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x.contiguous()
        n, c, h, w = x.shape
        size = h * w
        mean = torch.empty(n * c, device=x.device, dtype=x.dtype)
        rstd = torch.empty_like(mean)
        y = torch.empty_like(x)
        stats_kernel[(n * c,)](x, mean, rstd, size, self.inorm.eps, BLOCK=4096)
        apply_kernel[(n * c, triton.cdiv(size, 4096))](x, y, mean, rstd, size, BLOCK=4096)
        return y
