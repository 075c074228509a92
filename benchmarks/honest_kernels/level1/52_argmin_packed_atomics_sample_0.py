# Value and index packed into 64 bits; a thread takes 256 rows and ends with one atomicMin; a second kernel unpacks.
# style: atomics, several_launches
# expect: faster
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = r"""
#include <torch/extension.h>

#define ROWS 256

typedef unsigned long long u64;

__device__ __forceinline__ u64 pack(float v, unsigned index) {
    unsigned bits = __float_as_uint(v + 0.0f);  // -0 and 0 are one value
    bits = bits & 0x80000000u ? ~bits : bits | 0x80000000u;
    return ((u64)bits << 32) | index;
}

__global__ void argmin_chunks(const float* x, u64* best, int reduce, int inner) {
    const int col = blockIdx.x * blockDim.x + threadIdx.x;
    if (col >= inner) return;
    const int64_t b = blockIdx.z;
    const int begin = blockIdx.y * ROWS, end = min(begin + ROWS, reduce);
    u64 mine = ~0ULL;
    for (int r = begin; r < end; ++r) {
        const u64 candidate = pack(x[(b * reduce + r) * inner + col], r);
        if (candidate < mine) mine = candidate;
    }
    atomicMin(&best[b * inner + col], mine);
}

__global__ void unpack(const u64* best, int64_t* out, int64_t n) {
    const int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = (int64_t)(best[i] & 0xffffffffULL);
}

torch::Tensor argmin_cuda(torch::Tensor x) {
    const int64_t b = x.size(0), reduce = x.size(1), inner = x.size(2);
    auto best = torch::full({b, inner}, -1, x.options().dtype(torch::kInt64));
    auto out = torch::empty({b, inner}, x.options().dtype(torch::kInt64));
    u64* keys = reinterpret_cast<u64*>(best.data_ptr<int64_t>());
    argmin_chunks<<<dim3((inner + 255) / 256, (reduce + ROWS - 1) / ROWS, b), 256>>>(
        x.data_ptr<float>(), keys, reduce, inner);
    unpack<<<(b * inner + 255) / 256, 256>>>(keys, out.data_ptr<int64_t>(), b * inner);
    return out;
}
"""

ext = load_inline(
    name="argmin_packed",
    cpp_sources="torch::Tensor argmin_cuda(torch::Tensor x);",
    cuda_sources=source,
    functions=["argmin_cuda"],
)


class ModelNew(nn.Module):
    def __init__(self, dim: int):
        super().__init__()
        self.dim = dim

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if self.dim != 1:
            raise NotImplementedError("dim must be 1")
        return ext.argmin_cuda(x.contiguous())
