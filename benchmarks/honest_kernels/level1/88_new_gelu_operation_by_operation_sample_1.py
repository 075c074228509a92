# The formula step by step: PyTorch for the cube and the sum, own kernels for tanh and the product, a stop after each.
# style: library, several_launches
# expect: slower
import math

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_src = """
#include <torch/extension.h>

__global__ void tanh_kernel(const float* in, float* out, float factor, int64_t n) {
    for (int64_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        out[i] = tanhf(factor * in[i]);
    }
}

__global__ void combine_kernel(const float* x, const float* t, float* out, int64_t n) {
    for (int64_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        out[i] = 0.5f * x[i] * (1.0f + t[i]);
    }
}

torch::Tensor scaled_tanh(torch::Tensor in, double factor) {
    auto out = torch::empty_like(in);
    tanh_kernel<<<256, 256>>>(in.data_ptr<float>(), out.data_ptr<float>(), factor, in.numel());
    cudaDeviceSynchronize();
    return out;
}

torch::Tensor combine(torch::Tensor x, torch::Tensor t) {
    auto out = torch::empty_like(x);
    combine_kernel<<<256, 256>>>(x.data_ptr<float>(), t.data_ptr<float>(), out.data_ptr<float>(), x.numel());
    cudaDeviceSynchronize();
    return out;
}
"""

ext = load_inline(
    name="new_gelu_steps",
    cpp_sources="""
torch::Tensor scaled_tanh(torch::Tensor in, double factor);
torch::Tensor combine(torch::Tensor x, torch::Tensor t);
""",
    cuda_sources=cuda_src,
    functions=["scaled_tanh", "combine"],
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x.contiguous()
        cube = torch.pow(x, 3.0)
        inner = x + 0.044715 * cube
        t = ext.scaled_tanh(inner, math.sqrt(2.0 / math.pi))
        return ext.combine(x, t)
