import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

bias_relu_source = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAStream.h>

// The product comes from cuBLAS; the kernel adds the bias and clips in place.
__global__ void bias_relu_kernel(float* __restrict__ x, const float* __restrict__ bias, int64_t rows,
                                 int64_t columns) {
    const int64_t c = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (c >= columns) return;
    const float b = bias[c];
    for (int64_t r = blockIdx.y; r < rows; r += gridDim.y) {
        const float v = x[r * columns + c] + b;
        x[r * columns + c] = v < 0.0f ? 0.0f : v;
    }
}

torch::Tensor gemm_bias_relu(torch::Tensor x, torch::Tensor weight, torch::Tensor bias) {
    TORCH_CHECK(x.is_cuda() && weight.is_cuda() && bias.is_cuda(), "all tensors must be on the GPU");
    auto y = torch::matmul(x, weight.t());
    TORCH_CHECK(y.is_contiguous() && bias.is_contiguous());
    const int64_t rows = y.size(0), columns = y.size(1);
    const dim3 grid((columns + 255) / 256, (unsigned)std::min<int64_t>(rows, 512));
    bias_relu_kernel<<<grid, 256, 0, at::cuda::getCurrentCUDAStream()>>>(
        y.data_ptr<float>(), bias.data_ptr<float>(), rows, columns);
    C10_CUDA_KERNEL_LAUNCH_CHECK();
    return y;
}
"""

gemm_bias_relu_ext = load_inline(
    name="gemm_bias_relu_ext",
    cpp_sources="torch::Tensor gemm_bias_relu(torch::Tensor x, torch::Tensor weight, torch::Tensor bias);",
    cuda_sources=bias_relu_source,
    functions=["gemm_bias_relu"],
    extra_cuda_cflags=["-O3"],
)


class ModelNew(nn.Module):
    def __init__(self, in_features, out_features, bias_shape):
        super().__init__()
        self.gemm = nn.Linear(in_features, out_features, bias=False)
        self.bias = nn.Parameter(torch.randn(bias_shape))

    def forward(self, x):
        return gemm_bias_relu_ext.gemm_bias_relu(x, self.gemm.weight, self.bias)
