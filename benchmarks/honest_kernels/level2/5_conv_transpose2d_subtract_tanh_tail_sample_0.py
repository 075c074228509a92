# Library convolution, then bias and tanh in one kernel, default stream.
# style: library
# expect: about
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>

__global__ void subtract_tanh_kernel(const float* __restrict__ x, const float* __restrict__ bias, float* __restrict__ y, int64_t n, int channels, int64_t plane) {
    int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        y[i] = tanhf(x[i] - bias[(i / plane) % channels]);
    }
}

torch::Tensor subtract_tanh(torch::Tensor x, torch::Tensor bias) {
    x = x.contiguous();
    bias = bias.contiguous();
    auto y = torch::empty_like(x);
    const int64_t n = x.numel();
    const int threads = 256;
    const int64_t blocks = (n + threads - 1) / threads;
    subtract_tanh_kernel<<<blocks, threads>>>(x.data_ptr<float>(), bias.data_ptr<float>(), y.data_ptr<float>(), n,
                                           x.size(1), x.size(2) * x.size(3));
    return y;
}
"""

cpp_source = "torch::Tensor subtract_tanh(torch::Tensor x, torch::Tensor bias);"

ext = load_inline(
    name="conv_transpose2d_subtract_tanh_tail",
    cpp_sources=cpp_source,
    cuda_sources=source,
    functions=["subtract_tanh"],
    verbose=False,
)


class ModelNew(nn.Module):
    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: int,
        bias_shape: tuple,
        stride: int = 2,
        padding: int = 1,
        output_padding: int = 1,
    ):
        super().__init__()
        self.conv_transpose = nn.ConvTranspose2d(
            in_channels,
            out_channels,
            kernel_size,
            stride=stride,
            padding=padding,
            output_padding=output_padding,
        )
        self.bias = nn.Parameter(torch.randn(bias_shape))

    def forward(self, x):
        return ext.subtract_tanh(self.conv_transpose(x), self.bias)
