import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

relu_source = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>
#include <c10/cuda/CUDAStream.h>

// Written so that NaN stays NaN, as in torch.relu.
__device__ __forceinline__ float relu1(float v) { return v < 0.0f ? 0.0f : v; }

__global__ void relu_kernel_vec4(const float4* __restrict__ x, float4* __restrict__ y, int64_t n4) {
    const int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n4) {
        const float4 v = x[i];
        y[i] = make_float4(relu1(v.x), relu1(v.y), relu1(v.z), relu1(v.w));
    }
}

__global__ void relu_kernel(const float* __restrict__ x, float* __restrict__ y, int64_t start, int64_t n) {
    const int64_t i = start + (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = relu1(x[i]);
}

torch::Tensor relu_forward(torch::Tensor input) {
    TORCH_CHECK(input.is_cuda(), "input must be a CUDA tensor");
    auto x = input.contiguous();
    auto y = torch::empty_like(x);
    const int64_t n = x.numel();
    const int threads = 256;
    auto stream = at::cuda::getCurrentCUDAStream();
    const bool aligned = reinterpret_cast<uintptr_t>(x.data_ptr<float>()) % 16 == 0;
    const int64_t n4 = aligned ? n / 4 : 0;
    if (n4 > 0) {
        relu_kernel_vec4<<<(n4 + threads - 1) / threads, threads, 0, stream>>>(
            reinterpret_cast<const float4*>(x.data_ptr<float>()), reinterpret_cast<float4*>(y.data_ptr<float>()), n4);
    }
    const int64_t rest = n - 4 * n4;
    if (rest > 0) {
        relu_kernel<<<(rest + threads - 1) / threads, threads, 0, stream>>>(
            x.data_ptr<float>(), y.data_ptr<float>(), 4 * n4, n);
    }
    return y;
}
"""

relu_extension = load_inline(
    name="relu_extension",
    cpp_sources="torch::Tensor relu_forward(torch::Tensor input);",
    cuda_sources=relu_source,
    functions=["relu_forward"],
    verbose=False,
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return relu_extension.relu_forward(x)
