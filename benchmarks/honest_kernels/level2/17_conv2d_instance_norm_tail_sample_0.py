# Library convolution; one block a plane: mean, variance, then normalise, by shared-memory trees.
# style: library shared
# expect: about
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>

#define THREADS 256

__device__ float block_sum(float v, float* cache) {
    cache[threadIdx.x] = v;
    __syncthreads();
    for (int s = THREADS / 2; s > 0; s >>= 1) {
        if (threadIdx.x < s) cache[threadIdx.x] += cache[threadIdx.x + s];
        __syncthreads();
    }
    const float total = cache[0];
    __syncthreads();
    return total;
}

__global__ void instance_norm_kernel(const float* x, float* y, int64_t size, float eps, float divisor) {
    __shared__ float cache[THREADS];
    const float* p = x + (int64_t)blockIdx.x * size;
    float* q = y + (int64_t)blockIdx.x * size;
    float sum = 0.0f;
    for (int64_t i = threadIdx.x; i < size; i += THREADS) sum += p[i];
    const float mean = block_sum(sum, cache) / size;
    float squares = 0.0f;
    for (int64_t i = threadIdx.x; i < size; i += THREADS) {
        const float d = p[i] - mean;
        squares += d * d;
    }
    const float variance = block_sum(squares, cache) / size;
    const float scale = 1.0f / sqrtf(variance + eps);
    for (int64_t i = threadIdx.x; i < size; i += THREADS) q[i] = (p[i] - mean) * scale / divisor;
}

torch::Tensor instance_norm_divide(torch::Tensor x, double eps, double divisor) {
    x = x.contiguous();
    auto y = torch::empty_like(x);
    const int64_t planes = x.size(0) * x.size(1);
    instance_norm_kernel<<<planes, THREADS>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.size(2) * x.size(3), eps, divisor);
    cudaError_t err = cudaGetLastError();
    TORCH_CHECK(err == cudaSuccess, cudaGetErrorString(err));
    return y;
}
"""

cpp_source = """
torch::Tensor instance_norm_divide(torch::Tensor x, double eps, double divisor);
"""

ext = load_inline(
    name="conv2d_instance_norm_tail",
    cpp_sources=cpp_source,
    cuda_sources=source,
    functions=["instance_norm_divide"],
    verbose=False,
)


class ModelNew(nn.Module):
    def __init__(self, in_channels: int, out_channels: int, kernel_size: int, divide_by: float):
        super().__init__()
        self.conv = nn.Conv2d(in_channels, out_channels, kernel_size)
        self.instance_norm = nn.InstanceNorm2d(out_channels)
        self.divide_by = divide_by

    def forward(self, x):
        x = self.conv(x)
        return ext.instance_norm_divide(x, self.instance_norm.eps, self.divide_by)
