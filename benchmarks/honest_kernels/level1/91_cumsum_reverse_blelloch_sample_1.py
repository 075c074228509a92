# Blelloch's up-sweep and down-sweep over 1024 elements in shared memory, from the end of the row to its start.
# style: shared
# expect: slower
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>

#define N 1024

__global__ void reverse_blelloch(const float* x, float* y, int cols) {
    __shared__ float temp[N];
    const int t = threadIdx.x;  // 512 threads, two elements each
    const float* in = x + (size_t)blockIdx.x * cols;
    float* out = y + (size_t)blockIdx.x * cols;
    float carry = 0.0f;
    for (int start = 0; start < cols; start += N) {
        // element k of the chunk is element cols - 1 - k of the row
        const int a = start + 2 * t, b = a + 1;
        const float va = a < cols ? in[cols - 1 - a] : 0.0f;
        const float vb = b < cols ? in[cols - 1 - b] : 0.0f;
        temp[2 * t] = va;
        temp[2 * t + 1] = vb;
        int offset = 1;
        for (int d = N >> 1; d > 0; d >>= 1) {
            __syncthreads();
            if (t < d) {
                const int ai = offset * (2 * t + 1) - 1, bi = offset * (2 * t + 2) - 1;
                temp[bi] += temp[ai];
            }
            offset *= 2;
        }
        __syncthreads();
        const float total = temp[N - 1];
        __syncthreads();
        if (t == 0) temp[N - 1] = 0.0f;
        for (int d = 1; d < N; d *= 2) {
            offset >>= 1;
            __syncthreads();
            if (t < d) {
                const int ai = offset * (2 * t + 1) - 1, bi = offset * (2 * t + 2) - 1;
                const float left = temp[ai];
                temp[ai] = temp[bi];
                temp[bi] += left;
            }
        }
        __syncthreads();
        if (a < cols) out[cols - 1 - a] = carry + temp[2 * t] + va;
        if (b < cols) out[cols - 1 - b] = carry + temp[2 * t + 1] + vb;
        carry += total;
        __syncthreads();
    }
}

torch::Tensor reverse_cumsum(torch::Tensor x) {
    auto y = torch::empty_like(x);
    reverse_blelloch<<<x.size(0), N / 2>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.size(1));
    return y;
}
"""

ext = load_inline(
    name="reverse_blelloch",
    cpp_sources="torch::Tensor reverse_cumsum(torch::Tensor x);",
    cuda_sources=source,
    functions=["reverse_cumsum"],
)


class ModelNew(nn.Module):
    def __init__(self, dim: int):
        super().__init__()
        self.dim = dim

    def forward(self, x):
        if self.dim not in (1, -1):
            raise NotImplementedError
        return ext.reverse_cumsum(x.contiguous())
