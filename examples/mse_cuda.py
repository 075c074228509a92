"""Mean squared error in CUDA C++: an answer to problem 1/94 of the suite.

kernelgauge eval 1/94 examples/mse_cuda.py   # needs a GPU
kernelgauge build examples/mse_cuda.py       # compiles it; nvcc is enough

Each block sums its share in shared memory and adds it to the total once: one pass over memory, where the reference
makes three.
"""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

SOURCE = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>

constexpr int THREADS = 256;

__global__ void add_squares(const float* p, const float* t, float* total, int64_t count) {
    __shared__ float sums[THREADS];
    float sum = 0.0f;
    const int64_t step = (int64_t)gridDim.x * THREADS;
    for (int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x; i < count; i += step) {
        const float difference = p[i] - t[i];
        sum += difference * difference;
    }
    sums[threadIdx.x] = sum;
    __syncthreads();
    for (int half = THREADS / 2; half > 0; half /= 2) {  // a tree: its rounding errors stay small
        if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0) atomicAdd(total, sums[0]);
}

torch::Tensor mean_squared_error(torch::Tensor predictions, torch::Tensor targets) {
    auto total = torch::zeros({}, predictions.options());
    const int64_t count = predictions.numel();
    const int blocks = std::min<int64_t>((count + THREADS - 1) / THREADS, 4096);
    add_squares<<<blocks, THREADS>>>(
        predictions.data_ptr<float>(), targets.data_ptr<float>(), total.data_ptr<float>(), count);
    return total / count;
}
"""

kernels = load_inline(
    name="mean_squared_error",
    cpp_sources="torch::Tensor mean_squared_error(torch::Tensor predictions, torch::Tensor targets);",
    cuda_sources=SOURCE,
    functions=["mean_squared_error"],
)


class ModelNew(nn.Module):
    def forward(self, predictions: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        return kernels.mean_squared_error(predictions.contiguous(), targets.contiguous())
