# Library convolution, then the added input and x * hardswish(x), current stream.
# style: library
# expect: faster
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_src = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>
#include <c10/cuda/CUDAStream.h>

__global__ void add_hardswish_kernel(const float* __restrict__ x, const float* __restrict__ other, float* __restrict__ y, int64_t n) {
    int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        const float v = x[i] + other[i];
        const float h = v * fminf(fmaxf(v + 3.0f, 0.0f), 6.0f) / 6.0f;
        y[i] = v * h;
    }
}

torch::Tensor add_hardswish(torch::Tensor x, torch::Tensor other) {
    x = x.contiguous();
    other = other.contiguous();
    TORCH_CHECK(x.sizes() == other.sizes(), "shapes differ");
    auto y = torch::empty_like(x);
    const int64_t n = x.numel();
    const int threads = 256;
    const int64_t blocks = (n + threads - 1) / threads;
    add_hardswish_kernel<<<blocks, threads, 0, at::cuda::getCurrentCUDAStream()>>>(x.data_ptr<float>(), other.data_ptr<float>(), y.data_ptr<float>(), n);
    return y;
}
"""

ext = load_inline(
    name="conv_transpose3d_add_hardswish_tail_ext",
    cpp_sources="torch::Tensor add_hardswish(torch::Tensor x, torch::Tensor other);",
    cuda_sources=cuda_src,
    functions=["add_hardswish"],
    extra_cuda_cflags=["-O3"],
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

    def forward(self, x, add_input):
        return ext.add_hardswish(self.conv_transpose(x), add_input)
