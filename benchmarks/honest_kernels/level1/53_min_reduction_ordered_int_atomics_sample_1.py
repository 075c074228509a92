# atomicMin on integers that order like floats, one for every 32 rows of a column; then back to floats.
# style: atomics, several_launches
# expect: slower
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_src = r"""
#include <torch/extension.h>
#include <climits>

__device__ int ordered(float f) {
    const int i = __float_as_int(f);
    return i >= 0 ? i : i ^ 0x7fffffff;
}

__global__ void min_atomic(const float* x, int* keys, int M, int N) {
    const int n = blockIdx.x * blockDim.x + threadIdx.x;
    const int64_t b = blockIdx.z;
    if (n >= N) return;
    int best = INT_MAX;
    for (int m = blockIdx.y * 32; m < min((int)(blockIdx.y + 1) * 32, M); ++m) {
        best = min(best, ordered(x[(b * M + m) * N + n]));
    }
    atomicMin(keys + b * N + n, best);
}

__global__ void to_float(const int* keys, float* out, int64_t total) {
    const int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < total) {
        const int k = keys[i];
        out[i] = __int_as_float(k >= 0 ? k : k ^ 0x7fffffff);
    }
}

torch::Tensor min_dim1(torch::Tensor x) {
    const int64_t B = x.size(0), M = x.size(1), N = x.size(2);
    auto keys = torch::full({B, N}, INT_MAX, x.options().dtype(torch::kInt32));
    auto out = torch::empty({B, N}, x.options());
    min_atomic<<<dim3((N + 255) / 256, (M + 31) / 32, B), 256>>>(
        x.data_ptr<float>(), keys.data_ptr<int>(), M, N);
    to_float<<<(B * N + 255) / 256, 256>>>(keys.data_ptr<int>(), out.data_ptr<float>(), B * N);
    cudaDeviceSynchronize();
    return out;
}
"""

ext = load_inline(
    name="min_ordered_ints",
    cpp_sources="torch::Tensor min_dim1(torch::Tensor x);",
    cuda_sources=cuda_src,
    functions=["min_dim1"],
)


class ModelNew(nn.Module):
    def __init__(self, dim: int):
        super().__init__()
        if dim not in (1, -2):
            raise ValueError("only the middle dimension")

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return ext.min_dim1(x.contiguous())
