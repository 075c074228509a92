# Library product, then sigmoid, scale and residual in one float4 kernel.
# style: library vectorised
# expect: about
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

linear_sigmoid_residual_tail_cpp = "torch::Tensor sigmoid_residual(torch::Tensor x, double scale);"

linear_sigmoid_residual_tail_cuda = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>
#include <c10/cuda/CUDAStream.h>

__device__ __forceinline__ float gate(float v, float scale) { return v + scale / (1.0f + expf(-v)); }

__global__ void sigmoid_residual_kernel(const float* __restrict__ x, float* __restrict__ y, int64_t n, float scale) {
    const int64_t i = ((int64_t)blockIdx.x * blockDim.x + threadIdx.x) * 4;
    if (i + 3 < n) {
        const float4 v = *reinterpret_cast<const float4*>(x + i);
        *reinterpret_cast<float4*>(y + i) = make_float4(gate(v.x, scale), gate(v.y, scale), gate(v.z, scale), gate(v.w, scale));
    } else {
        for (int64_t j = i; j < n; ++j) y[j] = gate(x[j], scale);
    }
}

torch::Tensor sigmoid_residual(torch::Tensor x, double scale) {
    x = x.contiguous();
    auto y = torch::empty_like(x);
    const int64_t n = x.numel();
    sigmoid_residual_kernel<<<(n + 1023) / 1024, 256, 0, at::cuda::getCurrentCUDAStream()>>>(
        x.data_ptr<float>(), y.data_ptr<float>(), n, scale);
    return y;
}
"""

ext = load_inline(
    name="linear_sigmoid_residual_tail_module",
    cpp_sources=[linear_sigmoid_residual_tail_cpp],
    cuda_sources=[linear_sigmoid_residual_tail_cuda],
    functions=["sigmoid_residual"],
    extra_cflags=["-O2"],
    extra_cuda_cflags=["-O2"],
    verbose=False,
)


class ModelNew(nn.Module):
    def __init__(self, input_size: int, hidden_size: int, scaling_factor: float):
        super().__init__()
        self.gemm = nn.Linear(input_size, hidden_size)
        self.scaling_factor = scaling_factor

    def forward(self, x):
        return ext.sigmoid_residual(self.gemm(x), self.scaling_factor)
