# One block an output; pairs of value and index in two shared arrays, ties to the smaller index.
# style: shared
# expect: slower
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

argmin_src = """
#include <torch/extension.h>
#include <cuda_runtime.h>
#include <math.h>
#include <limits.h>

__global__ void argmin_kernel(const float* x, int64_t* out, int M, int N) {
    __shared__ float vals[256];
    __shared__ int idxs[256];
    int tid = threadIdx.x;
    int b = blockIdx.x / N;
    int n = blockIdx.x % N;
    const float* p = x + (int64_t)b * M * N + n;
    float best = INFINITY;
    int best_idx = INT_MAX;
    for (int m = tid; m < M; m += 256) {
        float v = p[(int64_t)m * N];
        if (v < best || best_idx == INT_MAX) {
            best = v;
            best_idx = m;
        }
    }
    vals[tid] = best;
    idxs[tid] = best_idx;
    __syncthreads();
    for (int s = 128; s > 0; s >>= 1) {
        if (tid < s) {
            if (vals[tid + s] < vals[tid] || (vals[tid + s] == vals[tid] && idxs[tid + s] < idxs[tid])) {
                vals[tid] = vals[tid + s];
                idxs[tid] = idxs[tid + s];
            }
        }
        __syncthreads();
    }
    if (tid == 0) out[blockIdx.x] = idxs[0];
}

torch::Tensor argmin_cuda(torch::Tensor x) {
    int B = x.size(0), M = x.size(1), N = x.size(2);
    auto out = torch::empty({B, N}, torch::dtype(torch::kLong).device(x.device()));
    argmin_kernel<<<B * N, 256>>>(x.data_ptr<float>(), out.data_ptr<int64_t>(), M, N);
    return out;
}
"""

ext = load_inline(
    name="argmin_blocks",
    cpp_sources="torch::Tensor argmin_cuda(torch::Tensor x);",
    cuda_sources=argmin_src,
    functions=["argmin_cuda"],
)


class ModelNew(nn.Module):
    def __init__(self, dim: int):
        super().__init__()
        self.dim = dim
        assert dim == 1

    def forward(self, x):
        return ext.argmin_cuda(x.contiguous())
