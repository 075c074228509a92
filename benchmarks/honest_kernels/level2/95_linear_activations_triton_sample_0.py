# Library product, then all activations in one Triton kernel.
# style: library triton
# expect: about
import torch
import torch.nn as nn
import torch.nn.functional as F
import triton
import triton.language as tl


@triton.jit
def activations_kernel(x_ptr, add_ptr, y_ptr, n, columns, BLOCK: tl.constexpr):
    offs = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    v = tl.load(x_ptr + offs, mask=mask, other=0.0)
    v += tl.load(add_ptr + offs % columns, mask=mask, other=0.0)
    v = v * tl.sigmoid(v)
    # tanh by a sigmoid: 2 / (1 + exp(-2v)) - 1 loses digits near zero, so small values go by their series.
    small = v - v * v * v / 3.0 + 2.0 * v * v * v * v * v / 15.0
    v = tl.where(tl.abs(v) < 0.1, small, 2.0 * tl.sigmoid(2.0 * v) - 1.0)
    v = 0.5 * v * (1.0 + tl.erf(v * 0.7071067811865476))
    v = tl.minimum(tl.maximum(v, -1.0), 1.0)
    tl.store(y_ptr + offs, v, mask=mask)


class ModelNew(nn.Module):
    def __init__(self, in_features: int, out_features: int, add_value_shape: tuple):
        super().__init__()
        self.matmul = nn.Linear(in_features, out_features)
        self.add_value = nn.Parameter(torch.randn(add_value_shape))

    def forward(self, x):
        x = F.linear(x, self.matmul.weight, self.matmul.bias)
        y = torch.empty_like(x)
        n = x.numel()
        activations_kernel[(triton.cdiv(n, 1024),)](x, self.add_value, y, n, x.shape[1], BLOCK=1024)
        return y
