# One block a row, a Hillis-Steele scan of 1024 elements at a time in two shared buffers, the carry in a register.
# style: shared
# expect: slower
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

scan_source = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>

#define BLOCK 1024

__global__ void scan_kernel(const float* __restrict__ x, float* __restrict__ y, int64_t cols) {
    __shared__ float buf[2][BLOCK];
    const int tid = threadIdx.x;
    const float* in = x + blockIdx.x * cols;
    float* out = y + blockIdx.x * cols;
    float carry = 0.f;
    for (int64_t start = 0; start < cols; start += BLOCK) {
        int cur = 0;
        buf[0][tid] = start + tid < cols ? in[start + tid] : 0.f;
        __syncthreads();
        for (int offset = 1; offset < BLOCK; offset *= 2) {
            buf[1 - cur][tid] = tid >= offset ? buf[cur][tid] + buf[cur][tid - offset] : buf[cur][tid];
            cur = 1 - cur;
            __syncthreads();
        }
        if (start + tid < cols) out[start + tid] = carry + buf[cur][tid];
        carry += buf[cur][BLOCK - 1];
        __syncthreads();
    }
}

torch::Tensor inclusive_scan(torch::Tensor x) {
    auto y = torch::empty_like(x);
    const int64_t cols = x.size(1);
    scan_kernel<<<x.size(0), BLOCK>>>(x.data_ptr<float>(), y.data_ptr<float>(), cols);
    return y;
}
"""

ext = load_inline(
    name="hillis_steele",
    cpp_sources="torch::Tensor inclusive_scan(torch::Tensor x);",
    cuda_sources=scan_source,
    functions=["inclusive_scan"],
)


class ModelNew(nn.Module):
    def __init__(self, dim: int):
        super().__init__()
        self.dim = dim
        assert dim in (1, -1)

    def forward(self, x):
        return ext.inclusive_scan(x.contiguous())
