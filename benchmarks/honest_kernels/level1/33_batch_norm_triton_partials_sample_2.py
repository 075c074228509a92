# Triton, three kernels: sums of each plane, squared distances from the mean of each plane, normalisation.
# style: triton, several_launches
# expect: slower
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def plane_sum(x_ptr, out_ptr, HW, BLOCK: tl.constexpr):
    plane = tl.program_id(0).to(tl.int64)
    acc = tl.zeros((BLOCK,), dtype=tl.float32)
    for start in range(0, HW, BLOCK):
        offs = start + tl.arange(0, BLOCK)
        acc += tl.load(x_ptr + plane * HW + offs, mask=offs < HW, other=0.0)
    tl.store(out_ptr + plane, tl.sum(acc, axis=0))


@triton.jit
def plane_square(x_ptr, mean_ptr, out_ptr, C, HW, BLOCK: tl.constexpr):
    plane = tl.program_id(0).to(tl.int64)
    mean = tl.load(mean_ptr + plane % C)
    acc = tl.zeros((BLOCK,), dtype=tl.float32)
    for start in range(0, HW, BLOCK):
        offs = start + tl.arange(0, BLOCK)
        mask = offs < HW
        x = tl.load(x_ptr + plane * HW + offs, mask=mask, other=0.0)
        d = tl.where(mask, x - mean, 0.0)
        acc += d * d
    tl.store(out_ptr + plane, tl.sum(acc, axis=0))


@triton.jit
def normalise(x_ptr, y_ptr, mean_ptr, var_ptr, w_ptr, b_ptr, C, HW, eps, BLOCK: tl.constexpr):
    plane = tl.program_id(0).to(tl.int64)
    c = plane % C
    mean = tl.load(mean_ptr + c)
    rstd = 1.0 / tl.sqrt(tl.load(var_ptr + c) + eps)
    w = tl.load(w_ptr + c)
    b = tl.load(b_ptr + c)
    offs = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < HW
    x = tl.load(x_ptr + plane * HW + offs, mask=mask)
    tl.store(y_ptr + plane * HW + offs, (x - mean) * rstd * w + b, mask=mask)


class ModelNew(nn.Module):
    def __init__(self, num_features: int):
        super().__init__()
        self.bn = nn.BatchNorm2d(num_features)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x.contiguous()
        N, C, H, W = x.shape
        HW = H * W
        y = torch.empty_like(x)
        partial = torch.empty((N, C), device=x.device, dtype=torch.float32)
        plane_sum[(N * C,)](x, partial, HW, BLOCK=1024)
        mean = partial.sum(dim=0) / (N * HW)
        plane_square[(N * C,)](x, mean, partial, C, HW, BLOCK=1024)
        var = partial.sum(dim=0) / (N * HW)
        grid = (N * C, triton.cdiv(HW, 2048))
        normalise[grid](x, y, mean, var, self.bn.weight, self.bn.bias, C, HW, self.bn.eps, BLOCK=2048)
        return y
