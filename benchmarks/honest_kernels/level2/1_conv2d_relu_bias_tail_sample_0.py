# Library convolution, then relu and bias in one kernel that writes in place with float4.
# style: library vectorised
# expect: about
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_src = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>
#include <c10/cuda/CUDAStream.h>

__device__ __forceinline__ float relu(float v) { return v < 0.0f ? 0.0f : v; }

// In place; blockIdx.y is the plane, so that the bias is read once a thread.
__global__ void relu_bias_kernel(float* __restrict__ x, const float* __restrict__ bias, int channels, int64_t plane) {
    float* p = x + (int64_t)blockIdx.y * plane;
    const float b = bias[blockIdx.y % channels];
    const int64_t step = (int64_t)gridDim.x * blockDim.x;
    int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (plane % 4 == 0) {
        float4* p4 = reinterpret_cast<float4*>(p);
        for (; i < plane / 4; i += step) {
            float4 v = p4[i];
            v.x = relu(v.x) + b;
            v.y = relu(v.y) + b;
            v.z = relu(v.z) + b;
            v.w = relu(v.w) + b;
            p4[i] = v;
        }
    } else {
        for (; i < plane; i += step) p[i] = relu(p[i]) + b;
    }
}

torch::Tensor relu_bias_(torch::Tensor x, torch::Tensor bias) {
    TORCH_CHECK(x.is_contiguous(), "x must be contiguous");
    bias = bias.contiguous();
    const int channels = x.size(1);
    const int64_t plane = x.size(2) * x.size(3), planes = x.size(0) * channels;
    TORCH_CHECK(planes <= 65535, "too many planes");
    const dim3 grid((unsigned)std::min<int64_t>((plane / 4 + 255) / 256 + 1, 64), (unsigned)planes);
    relu_bias_kernel<<<grid, 256, 0, at::cuda::getCurrentCUDAStream()>>>(
        x.data_ptr<float>(), bias.data_ptr<float>(), channels, plane);
    return x;
}
"""

ext = load_inline(
    name="conv2d_relu_bias_tail_ext",
    cpp_sources="torch::Tensor relu_bias_(torch::Tensor x, torch::Tensor bias);",
    cuda_sources=cuda_src,
    functions=["relu_bias_"],
    extra_cuda_cflags=["-O3"],
)


class ModelNew(nn.Module):
    def __init__(self, in_channels: int, out_channels: int, kernel_size: int, bias_shape: tuple):
        super().__init__()
        self.conv = nn.Conv2d(in_channels, out_channels, kernel_size)
        self.bias = nn.Parameter(torch.randn(bias_shape))

    def forward(self, x):
        y = self.conv(x).contiguous()
        return ext.relu_bias_(y, self.bias)
