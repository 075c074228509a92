"""As models write it: torch/extension.h in the CUDA text, checks by macros."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

CUDA = r"""
#include <torch/extension.h>
#include <cuda.h>
#include <cuda_runtime.h>
#include <vector>

#define CHECK_CUDA(x) TORCH_CHECK(x.is_cuda(), #x " must be a CUDA tensor")
#define CHECK_CONTIGUOUS(x) TORCH_CHECK(x.is_contiguous(), #x " must be contiguous")
#define CHECK_INPUT(x) CHECK_CUDA(x); CHECK_CONTIGUOUS(x)

__global__ void swish_kernel(const float* __restrict__ input, float* __restrict__ output, int64_t size) {
    const int64_t idx = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (idx < size) {
        const float value = input[idx];
        output[idx] = value / (1.0f + expf(-value));
    }
}

torch::Tensor swish_cuda(torch::Tensor input) {
    CHECK_INPUT(input);
    auto output = torch::zeros_like(input);
    const int threads = 256;
    const int64_t blocks = (input.numel() + threads - 1) / threads;
    swish_kernel<<<blocks, threads>>>(input.data_ptr<float>(), output.data_ptr<float>(), input.numel());
    return output;
}
"""

CPP = r"""
torch::Tensor swish_cuda(torch::Tensor input);
"""

kernels = load_inline(
    name="swish",
    cpp_sources=CPP,
    cuda_sources=CUDA,
    functions=["swish_cuda"],
    extra_cflags=["-O3"],
    extra_cuda_cflags=["-O3", "--use_fast_math"],
)


class ModelNew(nn.Module):
    def forward(self, x):
        return kernels.swish_cuda(x)
