# Library convolution, then the whole chain of sums and products in one kernel, current stream.
# style: library
# expect: faster
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>
#include <c10/cuda/CUDAStream.h>

__global__ void residual_chain_kernel(const float* __restrict__ x, const float* __restrict__ bias, float* __restrict__ y, int64_t n, int channels, int64_t volume) {
    int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        const float r = x[i];
        float v = r + bias[(i / volume) % channels];
        v = v + r;
        v = v * r;
        y[i] = v + r;
    }
}

torch::Tensor residual_chain(torch::Tensor x, torch::Tensor bias) {
    x = x.contiguous();
    bias = bias.contiguous();
    auto y = torch::empty_like(x);
    const int64_t n = x.numel();
    const int threads = 256;
    const int64_t blocks = (n + threads - 1) / threads;
    residual_chain_kernel<<<blocks, threads, 0, at::cuda::getCurrentCUDAStream()>>>(x.data_ptr<float>(), bias.data_ptr<float>(), y.data_ptr<float>(), n,
                                             x.size(1), x.size(2) * x.size(3) * x.size(4));
    return y;
}
"""

cpp_source = "torch::Tensor residual_chain(torch::Tensor x, torch::Tensor bias);"

ext = load_inline(
    name="conv_transpose3d_residual_tail",
    cpp_sources=cpp_source,
    cuda_sources=source,
    functions=["residual_chain"],
    verbose=False,
)


class ModelNew(nn.Module):
    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: int,
        stride: int,
        padding: int,
        output_padding: int,
        bias_shape: tuple,
    ):
        super().__init__()
        self.conv_transpose = nn.ConvTranspose3d(
            in_channels,
            out_channels,
            kernel_size,
            stride=stride,
            padding=padding,
            output_padding=output_padding,
        )
        self.bias = nn.Parameter(torch.randn(bias_shape))

    def forward(self, x):
        return ext.residual_chain(self.conv_transpose(x), self.bias)
