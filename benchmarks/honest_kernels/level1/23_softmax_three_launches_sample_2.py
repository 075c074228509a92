# Maximum, sum and division are three kernels; blocks of a row meet by atomics in two buffers of one value a row.
# style: several_launches, atomics, shared
# expect: about
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

src = r"""
#include <torch/extension.h>
#include <c10/cuda/CUDAStream.h>
#include <math.h>

#define THREADS 256
#define CHUNK 8192

__device__ void atomic_max_float(float* address, float value) {
    int* as_int = (int*)address;
    int old = *as_int;
    while (value > __int_as_float(old)) {
        int assumed = old;
        old = atomicCAS(as_int, assumed, __float_as_int(value));
        if (old == assumed) break;
    }
}

__global__ void max_kernel(const float* x, float* row_max, int cols) {
    __shared__ float buf[THREADS];
    const float* row = x + (int64_t)blockIdx.y * cols;
    const int end = min(cols, (int)(blockIdx.x + 1) * CHUNK);
    float m = -INFINITY;
    for (int i = blockIdx.x * CHUNK + threadIdx.x; i < end; i += THREADS) m = fmaxf(m, row[i]);
    buf[threadIdx.x] = m;
    __syncthreads();
    for (int s = THREADS / 2; s > 0; s /= 2) {
        if (threadIdx.x < s) buf[threadIdx.x] = fmaxf(buf[threadIdx.x], buf[threadIdx.x + s]);
        __syncthreads();
    }
    if (threadIdx.x == 0) atomic_max_float(&row_max[blockIdx.y], buf[0]);
}

__global__ void sum_kernel(const float* x, const float* row_max, float* row_sum, int cols) {
    __shared__ float buf[THREADS];
    const float* row = x + (int64_t)blockIdx.y * cols;
    const float m = row_max[blockIdx.y];
    const int end = min(cols, (int)(blockIdx.x + 1) * CHUNK);
    float total = 0.f;
    for (int i = blockIdx.x * CHUNK + threadIdx.x; i < end; i += THREADS) total += expf(row[i] - m);
    buf[threadIdx.x] = total;
    __syncthreads();
    for (int s = THREADS / 2; s > 0; s /= 2) {
        if (threadIdx.x < s) buf[threadIdx.x] += buf[threadIdx.x + s];
        __syncthreads();
    }
    if (threadIdx.x == 0) atomicAdd(&row_sum[blockIdx.y], buf[0]);
}

__global__ void normalize_kernel(const float* x, const float* row_max, const float* row_sum, float* y, int cols) {
    const int64_t start = (int64_t)blockIdx.y * cols;
    const int i = blockIdx.x * THREADS + threadIdx.x;
    if (i < cols) y[start + i] = expf(x[start + i] - row_max[blockIdx.y]) / row_sum[blockIdx.y];
}

torch::Tensor softmax(torch::Tensor x) {
    const int rows = x.size(0), cols = x.size(1);
    TORCH_CHECK(rows <= 65535, "too many rows for the grid");
    auto y = torch::empty_like(x);
    auto row_max = torch::full({rows}, -INFINITY, x.options());
    auto row_sum = torch::zeros({rows}, x.options());
    auto stream = c10::cuda::getCurrentCUDAStream();
    const dim3 chunks((cols + CHUNK - 1) / CHUNK, rows);
    max_kernel<<<chunks, THREADS, 0, stream>>>(x.data_ptr<float>(), row_max.data_ptr<float>(), cols);
    sum_kernel<<<chunks, THREADS, 0, stream>>>(
        x.data_ptr<float>(), row_max.data_ptr<float>(), row_sum.data_ptr<float>(), cols);
    normalize_kernel<<<dim3((cols + THREADS - 1) / THREADS, rows), THREADS, 0, stream>>>(
        x.data_ptr<float>(), row_max.data_ptr<float>(), row_sum.data_ptr<float>(), y.data_ptr<float>(), cols);
    return y;
}
"""

ext = load_inline(
    name="softmax_three_launches",
    cpp_sources="torch::Tensor softmax(torch::Tensor x);",
    cuda_sources=src,
    functions=["softmax"],
    extra_cuda_cflags=["-O3"],
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x):
        return ext.softmax(x.contiguous())
