# A kernel in CuTe's Python form behind the library's product; its name in a trace is longer than the function's.
# class: rules/own_kernel
# needs: cutlass
# kernel_policy: kernel-required
# verdict: passed
import cuda.bindings.driver as driver
import cutlass
import cutlass.cute as cute
import torch
import torch.nn as nn
from cutlass.cute.runtime import from_dlpack


@cute.kernel
def norm_relu(
    x: cute.Tensor,
    mean: cute.Tensor,
    scale: cute.Tensor,
    gain: cute.Tensor,
    bias: cute.Tensor,
    y: cute.Tensor,
    columns: cutlass.Int32,
):
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    i = block * 256 + thread
    if i < cute.size(x):
        row = i // columns
        column = i % columns
        value = (x[i] - mean[row]) * scale[row] * gain[column] + bias[column]
        if value < 0.0:
            value = cutlass.Float32(0.0)
        y[i] = value


@cute.jit
def launch(
    x: cute.Tensor,
    mean: cute.Tensor,
    scale: cute.Tensor,
    gain: cute.Tensor,
    bias: cute.Tensor,
    y: cute.Tensor,
    columns: cutlass.Int32,
    stream: driver.CUstream,
):
    blocks = cute.ceil_div(cute.size(x), 256)
    norm_relu(x, mean, scale, gain, bias, y, columns).launch(grid=(blocks, 1, 1), block=(256, 1, 1), stream=stream)


class ModelNew(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.linear = nn.Linear(features, features)
        self.norm = nn.LayerNorm(features)
        self.compiled = None

    def forward(self, x):
        y = self.linear(x)
        out = torch.empty_like(y)
        variance, mean = torch.var_mean(y, dim=-1, correction=0)
        tensors = (y, mean, torch.rsqrt(variance + self.norm.eps), self.norm.weight, self.norm.bias, out)
        stream = driver.CUstream(torch.cuda.current_stream().cuda_stream)
        flat = [from_dlpack(each.detach().reshape(-1)) for each in tensors]
        arguments = (*flat, cutlass.Int32(y.shape[-1]), stream)
        if self.compiled is None:
            self.compiled = cute.compile(launch, *arguments)
        self.compiled(*arguments)
        return out
