# A kernel of Gluon behind the library's product.
# class: rules/own_kernel
# needs: triton
# kernel_policy: kernel-required
# verdict: passed
import torch
import torch.nn as nn
import triton
from triton.experimental import gluon
from triton.experimental.gluon import language as gl


@gluon.jit
def norm_relu(x_ptr, gain_ptr, bias_ptr, y_ptr, columns, eps, BLOCK: gl.constexpr):
    layout: gl.constexpr = gl.BlockedLayout([1], [32], [gl.num_warps()], [0])
    row = gl.program_id(0)
    offsets = gl.arange(0, BLOCK, layout=layout)
    inside = offsets < columns
    x = gl.load(x_ptr + row * columns + offsets, mask=inside, other=0.0)
    mean = gl.sum(x, axis=0) / columns
    centred = gl.where(inside, x - mean, 0.0)
    variance = gl.sum(centred * centred, axis=0) / columns
    gain = gl.load(gain_ptr + offsets, mask=inside, other=0.0)
    bias = gl.load(bias_ptr + offsets, mask=inside, other=0.0)
    y = centred / gl.sqrt(variance + eps) * gain + bias
    gl.store(y_ptr + row * columns + offsets, gl.where(y < 0.0, 0.0, y), mask=inside)


class ModelNew(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.linear = nn.Linear(features, features)
        self.norm = nn.LayerNorm(features)

    def forward(self, x):
        y = self.linear(x)
        out = torch.empty_like(y)
        rows, columns = y.shape
        block = max(128, triton.next_power_of_2(columns))
        norm_relu[(rows,)](y, self.norm.weight, self.norm.bias, out, columns, self.norm.eps, BLOCK=block, num_warps=4)
        return out


def compile_ahead():
    norm_relu.warmup(*[torch.float32] * 4, 64, 1e-5, BLOCK=128, num_warps=4, grid=(1,))
