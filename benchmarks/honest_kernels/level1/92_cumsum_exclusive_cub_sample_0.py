# cub::BlockScan over 512 elements at a time, a row a block, the aggregate carried along.
# style: shared
# expect: about
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

src = r"""
#include <torch/extension.h>
#include <cub/block/block_scan.cuh>

__global__ void exclusive_scan_kernel(const float* x, float* y, int cols) {
    using Scan = cub::BlockScan<float, 512>;
    __shared__ typename Scan::TempStorage storage;
    const float* in = x + (int64_t)blockIdx.x * cols;
    float* out = y + (int64_t)blockIdx.x * cols;
    float carry = 0.f;
    for (int start = 0; start < cols; start += 512) {
        const int i = start + threadIdx.x;
        float v = i < cols ? in[i] : 0.f;
        float prefix, total;
        Scan(storage).ExclusiveSum(v, prefix, total);
        if (i < cols) out[i] = carry + prefix;
        carry += total;
        __syncthreads();
    }
}

torch::Tensor exclusive_cumsum(torch::Tensor x) {
    auto y = torch::empty_like(x);
    exclusive_scan_kernel<<<x.size(0), 512>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.size(1));
    return y;
}
"""

ext = load_inline(
    name="exclusive_cub",
    cpp_sources="torch::Tensor exclusive_cumsum(torch::Tensor x);",
    cuda_sources=src,
    functions=["exclusive_cumsum"],
)


class ModelNew(nn.Module):
    def __init__(self, dim: int):
        super().__init__()
        self.dim = dim
        assert dim in (-1, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return ext.exclusive_cumsum(x.contiguous())
