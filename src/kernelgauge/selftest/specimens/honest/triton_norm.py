# A kernel of Triton beside the library's product; on a CPU its interpreter runs it.
# class: rules/own_kernel
# needs: triton
# kernel_policy: kernel-required
# verdict: passed
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def norm_relu(x_ptr, gain_ptr, bias_ptr, y_ptr, columns, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    offsets = tl.arange(0, BLOCK)
    inside = offsets < columns
    x = tl.load(x_ptr + row * columns + offsets, mask=inside, other=0.0)
    mean = tl.sum(x, axis=0) / columns
    centred = tl.where(inside, x - mean, 0.0)
    variance = tl.sum(centred * centred, axis=0) / columns
    gain = tl.load(gain_ptr + offsets, mask=inside, other=0.0)
    bias = tl.load(bias_ptr + offsets, mask=inside, other=0.0)
    y = centred / tl.sqrt(variance + eps) * gain + bias
    tl.store(y_ptr + row * columns + offsets, tl.maximum(y, 0.0), mask=inside)


class ModelNew(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.linear = nn.Linear(features, features)
        self.norm = nn.LayerNorm(features)

    def forward(self, x):
        y = self.linear(x)
        out = torch.empty_like(y)
        rows, columns = y.shape
        block = triton.next_power_of_2(columns)
        norm_relu[(rows,)](y, self.norm.weight, self.norm.bias, out, columns, self.norm.eps, BLOCK=block)
        return out
