# Triton: programs over pieces of a group add to its sum by tl.atomic_add, then to its squared distances, then write.
# style: triton, atomics, several_launches
# expect: slower
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def group_sum(x_ptr, sum_ptr, group_size, BLOCK: tl.constexpr):
    group = tl.program_id(0)
    offs = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + group.to(tl.int64) * group_size + offs, mask=offs < group_size, other=0.0)
    tl.atomic_add(sum_ptr + group, tl.sum(x, axis=0))


@triton.jit
def group_squares(x_ptr, sum_ptr, square_ptr, group_size, BLOCK: tl.constexpr):
    group = tl.program_id(0)
    offs = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < group_size
    x = tl.load(x_ptr + group.to(tl.int64) * group_size + offs, mask=mask, other=0.0)
    mean = tl.load(sum_ptr + group) / group_size
    d = tl.where(mask, x - mean, 0.0)
    tl.atomic_add(square_ptr + group, tl.sum(d * d, axis=0))


@triton.jit
def group_apply(x_ptr, y_ptr, sum_ptr, square_ptr, w_ptr, b_ptr, group_size, pixels, C, G, eps, BLOCK: tl.constexpr):
    group = tl.program_id(0)
    offs = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < group_size
    base = group.to(tl.int64) * group_size
    mean = tl.load(sum_ptr + group) / group_size
    rstd = tl.rsqrt(tl.load(square_ptr + group) / group_size + eps)
    channel = (group % G) * (C // G) + offs // pixels
    w = tl.load(w_ptr + channel, mask=mask, other=0.0)
    b = tl.load(b_ptr + channel, mask=mask, other=0.0)
    x = tl.load(x_ptr + base + offs, mask=mask)
    tl.store(y_ptr + base + offs, (x - mean) * rstd * w + b, mask=mask)


class ModelNew(nn.Module):
    def __init__(self, num_features: int, num_groups: int):
        super().__init__()
        self.gn = nn.GroupNorm(num_groups, num_features)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x.contiguous()
        n, c = x.shape[:2]
        groups = self.gn.num_groups
        pixels = x.numel() // (n * c)
        size = pixels * (c // groups)
        sums = torch.zeros(n * groups, device=x.device)
        squares = torch.zeros_like(sums)
        y = torch.empty_like(x)
        block = 4096
        grid = (n * groups, triton.cdiv(size, block))
        group_sum[grid](x, sums, size, BLOCK=block, num_warps=8)
        group_squares[grid](x, sums, squares, size, BLOCK=block, num_warps=8)
        w, b, eps = self.gn.weight, self.gn.bias, self.gn.eps
        group_apply[grid](x, y, sums, squares, w, b, size, pixels, c, groups, eps, BLOCK=block, num_warps=8)
        return y
