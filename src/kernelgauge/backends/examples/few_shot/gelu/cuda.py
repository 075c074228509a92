import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

CUDA = r"""
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <algorithm>
#include <cmath>

// 0.5 * (1 + tanh(u)) is 1 / (1 + exp(-2u)): one function call, and nothing cancels where u is far below zero.
__device__ float gelu(float x) {
    const float u = 0.7978845608028654f * (x + 0.044715f * x * x * x);
    return x / (1.0f + expf(-2.0f * u));
}

// One read and one write of each element. A grid that strides over the tensor needs no more blocks than fit at once.
__global__ void bias_gelu_kernel(const float* __restrict__ x, const float* __restrict__ bias, float* __restrict__ y,
                                 long long count, int features) {
    const long long stride = static_cast<long long>(gridDim.x) * blockDim.x;
    for (long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += stride)
        y[i] = gelu(x[i] + bias[i % features]);
}

torch::Tensor bias_gelu(torch::Tensor x, torch::Tensor bias) {
    TORCH_CHECK(x.is_cuda() && x.scalar_type() == torch::kFloat32 && x.is_contiguous(), "x: contiguous CUDA float32");
    const c10::cuda::CUDAGuard guard(x.device());
    auto y = torch::empty_like(x);
    const long long count = x.numel();
    const int blocks = static_cast<int>(std::min<long long>((count + 255) / 256, 4096));
    if (count > 0)
        bias_gelu_kernel<<<blocks, 256, 0, c10::cuda::getCurrentCUDAStream()>>>(
            x.data_ptr<float>(), bias.data_ptr<float>(), y.data_ptr<float>(), count, static_cast<int>(x.size(-1)));
    C10_CUDA_KERNEL_LAUNCH_CHECK();
    return y;
}
"""

kernels = load_inline(
    name="bias_gelu",
    cpp_sources="torch::Tensor bias_gelu(torch::Tensor x, torch::Tensor bias);",
    cuda_sources=CUDA,
    functions=["bias_gelu"],
    extra_cuda_cflags=["-O3"],
)


class ModelNew(nn.Module):
    """Bias and GELU in one pass over memory."""

    def __init__(self, features: int):
        super().__init__()
        self.bias = nn.Parameter(torch.zeros(features))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return kernels.bias_gelu(x.contiguous(), self.bias)
