import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

gelu_softmax_source = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAStream.h>

constexpr int THREADS = 256;

struct Max {
    __device__ float operator()(float a, float b) const { return fmaxf(a, b); }
};
struct Sum {
    __device__ float operator()(float a, float b) const { return a + b; }
};

template <typename Op>
__device__ float block_all(float value, Op op) {
    __shared__ float partial[THREADS / 32];
    for (int offset = 16; offset > 0; offset /= 2) value = op(value, __shfl_xor_sync(0xffffffff, value, offset));
    if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = value;
    __syncthreads();
    value = partial[0];
    for (int w = 1; w < THREADS / 32; ++w) value = op(value, partial[w]);
    __syncthreads();
    return value;
}

// One block per row; GELU is computed once and the row waits in shared memory.
__global__ void gelu_softmax_kernel(const float* __restrict__ x, float* __restrict__ y, int columns) {
    extern __shared__ float row[];
    const int64_t start = (int64_t)blockIdx.x * columns;
    float largest = -INFINITY;
    for (int i = threadIdx.x; i < columns; i += THREADS) {
        const float v = x[start + i];
        const float g = 0.5f * v * (1.0f + erff(v * 0.70710678f));
        row[i] = g;
        largest = fmaxf(largest, g);
    }
    largest = block_all(largest, Max());
    float total = 0.0f;
    for (int i = threadIdx.x; i < columns; i += THREADS) {
        const float e = expf(row[i] - largest);
        row[i] = e;
        total += e;
    }
    total = block_all(total, Sum());
    for (int i = threadIdx.x; i < columns; i += THREADS) y[start + i] = row[i] / total;
}

torch::Tensor gelu_softmax_cuda(torch::Tensor x) {
    TORCH_CHECK(x.is_cuda() && x.dim() == 2, "x must be a CUDA matrix");
    x = x.contiguous();
    auto y = torch::empty_like(x);
    const int columns = x.size(1);
    const size_t shared = columns * sizeof(float);
    TORCH_CHECK(shared <= 47 * 1024, "a row must fit into shared memory");
    gelu_softmax_kernel<<<x.size(0), THREADS, shared, at::cuda::getCurrentCUDAStream()>>>(
        x.data_ptr<float>(), y.data_ptr<float>(), columns);
    C10_CUDA_KERNEL_LAUNCH_CHECK();
    return y;
}
"""

gelu_softmax = load_inline(
    name="gelu_softmax",
    cpp_sources="torch::Tensor gelu_softmax_cuda(torch::Tensor x);",
    cuda_sources=gelu_softmax_source,
    functions=["gelu_softmax_cuda"],
    extra_cuda_cflags=["-O3"],
    verbose=False,
)


class ModelNew(nn.Module):
    def __init__(self, in_features, out_features):
        super().__init__()
        self.linear = nn.Linear(in_features, out_features)

    def forward(self, x):
        return gelu_softmax.gelu_softmax_cuda(self.linear(x))
