"""Needs the full headers: `torch::std(x, 1)` picks an overload that slim headers leave out."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

CUDA = r"""
#include <torch/extension.h>

__global__ void divide_kernel(const float* x, const float* by, float* y, int64_t size, int columns) {
    const int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i < size) y[i] = x[i] / by[i / columns];
}

torch::Tensor standardise(torch::Tensor x) {
    auto y = torch::empty_like(x);
    auto deviation = torch::std(x, 1).contiguous();
    divide_kernel<<<(x.numel() + 255) / 256, 256>>>(x.data_ptr<float>(), deviation.data_ptr<float>(), y.data_ptr<float>(),
                                                    x.numel(), x.size(1));
    return y;
}
"""

CPP = r"""
torch::Tensor standardise(torch::Tensor x);
"""

kernels = load_inline(
    name="standard_deviation",
    cpp_sources=CPP,
    cuda_sources=CUDA,
    functions=["standardise"],
)


class ModelNew(nn.Module):
    def forward(self, x):
        return kernels.standardise(x)
