# Library convolution, then both Mish in one elementwise kernel, default stream.
# style: library
# expect: faster
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>

__device__ __forceinline__ float mish(float x) {
    const float softplus = x > 20.0f ? x : log1pf(expf(x));
    return x * tanhf(softplus);
}

__global__ void mish_mish_kernel(const float* __restrict__ x, float* __restrict__ y, int64_t n) {
    int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        y[i] = mish(mish(x[i]));
    }
}

torch::Tensor mish_mish(torch::Tensor x) {
    x = x.contiguous();
    auto y = torch::empty_like(x);
    const int64_t n = x.numel();
    const int threads = 256;
    const int64_t blocks = (n + threads - 1) / threads;
    mish_mish_kernel<<<blocks, threads>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
    return y;
}
"""

cpp_source = "torch::Tensor mish_mish(torch::Tensor x);"

ext = load_inline(
    name="conv2d_mish_mish_tail",
    cpp_sources=cpp_source,
    cuda_sources=source,
    functions=["mish_mish"],
    verbose=False,
)


class ModelNew(nn.Module):
    def __init__(self, in_channels: int, out_channels: int, kernel_size: int):
        super().__init__()
        self.conv = nn.Conv2d(in_channels, out_channels, kernel_size)

    def forward(self, x):
        return ext.mish_mish(self.conv(x))
