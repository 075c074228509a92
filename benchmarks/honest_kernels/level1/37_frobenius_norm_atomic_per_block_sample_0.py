# Grid-stride sum of squares, a tree in every block, one atomicAdd a block onto one float; a second kernel divides.
# style: atomics, shared, several_launches
# expect: faster
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

frobenius_source = """
#include <torch/extension.h>
#include <cuda_runtime.h>

__global__ void sum_squares_kernel(const float* x, float* result, size_t n) {
    __shared__ float cache[256];
    float local = 0.0f;
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x) {
        local += x[i] * x[i];
    }
    cache[threadIdx.x] = local;
    __syncthreads();
    for (int stride = blockDim.x / 2; stride > 0; stride /= 2) {
        if (threadIdx.x < stride) cache[threadIdx.x] += cache[threadIdx.x + stride];
        __syncthreads();
    }
    if (threadIdx.x == 0) atomicAdd(result, cache[0]);
}

__global__ void divide_kernel(const float* x, const float* sum_squares, float* y, size_t n) {
    size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i] / sqrtf(*sum_squares);
}

torch::Tensor frobenius_norm(torch::Tensor x) {
    auto y = torch::empty_like(x);
    auto sum_squares = torch::zeros({1}, x.options());
    size_t n = x.numel();
    sum_squares_kernel<<<1024, 256>>>(x.data_ptr<float>(), sum_squares.data_ptr<float>(), n);
    divide_kernel<<<(n + 255) / 256, 256>>>(
        x.data_ptr<float>(), sum_squares.data_ptr<float>(), y.data_ptr<float>(), n);
    return y;
}
"""

frobenius = load_inline(
    name="frobenius",
    cpp_sources="torch::Tensor frobenius_norm(torch::Tensor x);",
    cuda_sources=frobenius_source,
    functions=["frobenius_norm"],
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return frobenius.frobenius_norm(x.contiguous())
