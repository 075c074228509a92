# Library product; one block a row does gelu and softmax, sums in shared memory.
# style: library shared
# expect: about
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

linear_gelu_softmax_rows_cpp = "torch::Tensor gelu_softmax(torch::Tensor x);"

linear_gelu_softmax_rows_cuda = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>

#define THREADS 512

__device__ __forceinline__ float gelu(float v) { return 0.5f * v * (1.0f + erff(v * 0.70710678f)); }

// The row's gelu values wait in shared memory between the passes.
__global__ void gelu_softmax_kernel(const float* __restrict__ x, float* __restrict__ y, int columns) {
    extern __shared__ float row[];
    __shared__ float cache[THREADS];
    const float* src = x + (int64_t)blockIdx.x * columns;
    const int tid = threadIdx.x;
    float top = -INFINITY;
    for (int i = tid; i < columns; i += THREADS) {
        const float v = gelu(src[i]);
        row[i] = v;
        top = fmaxf(top, v);
    }
    cache[tid] = top;
    __syncthreads();
    for (int s = THREADS / 2; s > 0; s /= 2) {
        if (tid < s) cache[tid] = fmaxf(cache[tid], cache[tid + s]);
        __syncthreads();
    }
    top = cache[0];
    __syncthreads();
    float sum = 0.0f;
    for (int i = tid; i < columns; i += THREADS) {
        const float e = expf(row[i] - top);
        row[i] = e;
        sum += e;
    }
    cache[tid] = sum;
    __syncthreads();
    for (int s = THREADS / 2; s > 0; s /= 2) {
        if (tid < s) cache[tid] += cache[tid + s];
        __syncthreads();
    }
    const float inverse = 1.0f / cache[0];
    for (int i = tid; i < columns; i += THREADS) y[(int64_t)blockIdx.x * columns + i] = row[i] * inverse;
}

torch::Tensor gelu_softmax(torch::Tensor x) {
    x = x.contiguous();
    const int columns = x.size(1);
    const size_t bytes = columns * sizeof(float);
    TORCH_CHECK(bytes <= 45 * 1024, "row does not fit into shared memory");
    auto y = torch::empty_like(x);
    gelu_softmax_kernel<<<x.size(0), THREADS, bytes>>>(x.data_ptr<float>(), y.data_ptr<float>(), columns);
    return y;
}
"""

ext = load_inline(
    name="linear_gelu_softmax_rows_module",
    cpp_sources=[linear_gelu_softmax_rows_cpp],
    cuda_sources=[linear_gelu_softmax_rows_cuda],
    functions=["gelu_softmax"],
    extra_cflags=["-O2"],
    extra_cuda_cflags=["-O2"],
    verbose=False,
)


class ModelNew(nn.Module):
    def __init__(self, in_features: int, out_features: int):
        super().__init__()
        self.linear = nn.Linear(in_features, out_features)

    def forward(self, x):
        return ext.gelu_softmax(self.linear(x))
