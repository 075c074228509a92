# Blocks of one warp each, fifty million of them: the launch of blocks is what takes the time.
# style: naive
# expect: slower
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

gelu_source = """
#include <torch/extension.h>
#include <cuda_runtime.h>
#include <cmath>

__global__ void gelu_kernel(const float* __restrict__ x, float* __restrict__ y, int64_t n) {
    int64_t i = (int64_t)blockIdx.x * 32 + threadIdx.x;
    if (i < n) {
        const float v = x[i];
        const float cdf = 0.5f * (1.0f + erff(v * 0.70710678118654752f));
        y[i] = v * cdf;
    }
}

torch::Tensor gelu_cuda(torch::Tensor x) {
    auto y = torch::empty_like(x);
    int64_t n = x.numel();
    dim3 block(32);
    dim3 grid((n + 31) / 32);
    gelu_kernel<<<grid, block>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
    cudaError_t err = cudaGetLastError();
    TORCH_CHECK(err == cudaSuccess, "gelu_kernel: ", cudaGetErrorString(err));
    return y;
}
"""

gelu = load_inline(
    name="gelu_warp_blocks",
    cpp_sources="torch::Tensor gelu_cuda(torch::Tensor x);",
    cuda_sources=gelu_source,
    functions=["gelu_cuda"],
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.gelu = gelu

    def forward(self, x):
        return self.gelu.gelu_cuda(x.contiguous())
