# Library product, then scaling and residual in place with a grid-stride loop.
# style: library
# expect: about
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_src = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>

__global__ void scale_residual_kernel(float* __restrict__ x, int64_t n, float factor) {
    const int64_t step = (int64_t)gridDim.x * blockDim.x;
    for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step) {
        const float v = x[i];
        x[i] = v * factor + v;
    }
}

torch::Tensor scale_residual_(torch::Tensor x, double factor) {
    TORCH_CHECK(x.is_contiguous(), "expected a contiguous tensor");
    scale_residual_kernel<<<2048, 256>>>(x.data_ptr<float>(), x.numel(), factor);
    return x;
}
"""

ext = load_inline(
    name="linear_scale_residual_tail_ext",
    cpp_sources="torch::Tensor scale_residual_(torch::Tensor x, double factor);",
    cuda_sources=cuda_src,
    functions=["scale_residual_"],
    extra_cuda_cflags=["-O3"],
)


class ModelNew(nn.Module):
    def __init__(self, in_features: int, out_features: int, scaling_factor: float):
        super().__init__()
        self.matmul = nn.Linear(in_features, out_features)
        self.scaling_factor = scaling_factor

    def forward(self, x):
        y = torch.addmm(self.matmul.bias, x, self.matmul.weight.t())
        return ext.scale_residual_(y, self.scaling_factor)
