"""ATen does the product, a kernel what follows; ATen/ATen.h, operators by name."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

CUDA = r"""
#include <torch/extension.h>
#include <ATen/ATen.h>
#include <c10/cuda/CUDAGuard.h>

__global__ void bias_relu_kernel(float* x, const float* bias, int64_t size, int features) {
    const int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i < size) x[i] = fmaxf(x[i] + bias[i % features], 0.0f);
}

torch::Tensor linear_bias_relu(torch::Tensor x, torch::Tensor weight, torch::Tensor bias) {
    const c10::cuda::CUDAGuard guard(x.device());
    auto y = torch::matmul(x, weight.t()).contiguous();
    auto total = at::sum(y, {0}, /*keepdim=*/true);
    bias_relu_kernel<<<(y.numel() + 255) / 256, 256>>>(y.data_ptr<float>(), bias.data_ptr<float>(), y.numel(), y.size(-1));
    return at::where(total > 0, y, at::zeros_like(y)) + y * 0.5;
}
"""

CPP = r"""
torch::Tensor linear_bias_relu(torch::Tensor x, torch::Tensor weight, torch::Tensor bias);
"""

kernels = load_inline(
    name="linear_bias_relu",
    cpp_sources=CPP,
    cuda_sources=CUDA,
    functions=["linear_bias_relu"],
)


class ModelNew(nn.Module):
    def __init__(self, features_in, features_out):
        super().__init__()
        self.linear = nn.Linear(features_in, features_out)

    def forward(self, x):
        return kernels.linear_bias_relu(x, self.linear.weight, self.linear.bias)
