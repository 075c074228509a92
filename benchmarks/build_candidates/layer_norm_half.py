"""Half precision: cuda_fp16.h, c10::Half, AT_DISPATCH with half, accumulation in float."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

CUDA = r"""
#include <torch/extension.h>
#include <cuda_fp16.h>
#include <cuda_bf16.h>

template <typename scalar_t>
__global__ void layer_norm_kernel(const scalar_t* x, const scalar_t* gain, const scalar_t* bias, scalar_t* y,
                                  int features, float epsilon) {
    __shared__ float sums[2];
    if (threadIdx.x < 2) sums[threadIdx.x] = 0.0f;
    __syncthreads();
    const int64_t start = static_cast<int64_t>(blockIdx.x) * features;
    float sum = 0.0f, squares = 0.0f;
    for (int i = threadIdx.x; i < features; i += blockDim.x) {
        const float value = static_cast<float>(x[start + i]);
        sum += value;
        squares += value * value;
    }
    atomicAdd(&sums[0], sum);
    atomicAdd(&sums[1], squares);
    __syncthreads();
    const float mean = sums[0] / features;
    const float scale = rsqrtf(sums[1] / features - mean * mean + epsilon);
    for (int i = threadIdx.x; i < features; i += blockDim.x) {
        const float value = (static_cast<float>(x[start + i]) - mean) * scale;
        y[start + i] = static_cast<scalar_t>(value * static_cast<float>(gain[i]) + static_cast<float>(bias[i]));
    }
}

__global__ void half2_copy(const __half2* from, __half2* to, int count) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) to[i] = __hadd2(from[i], __float2half2_rn(0.0f));
}

torch::Tensor layer_norm(torch::Tensor x, torch::Tensor gain, torch::Tensor bias, double epsilon) {
    auto y = torch::empty(x.sizes(), x.options());
    const int features = x.size(-1);
    AT_DISPATCH_FLOATING_TYPES_AND2(at::ScalarType::Half, at::ScalarType::BFloat16, x.scalar_type(), "layer_norm", [&] {
        layer_norm_kernel<scalar_t><<<x.numel() / features, 256>>>(
            x.data_ptr<scalar_t>(), gain.data_ptr<scalar_t>(), bias.data_ptr<scalar_t>(), y.data_ptr<scalar_t>(),
            features, static_cast<float>(epsilon));
    });
    return y;
}
"""

CPP = r"""
torch::Tensor layer_norm(torch::Tensor x, torch::Tensor gain, torch::Tensor bias, double epsilon);
"""

kernels = load_inline(
    name="layer_norm_half",
    cpp_sources=CPP,
    cuda_sources=CUDA,
    functions=["layer_norm"],
)


class ModelNew(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(features))
        self.bias = nn.Parameter(torch.zeros(features))

    def forward(self, x):
        return kernels.layer_norm(x, self.weight, self.bias, 1e-5)
