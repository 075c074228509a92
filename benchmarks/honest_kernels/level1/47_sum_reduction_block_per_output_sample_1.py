# One block of 128 an output, its threads a row of the matrix apart: the textbook's tree on uncoalesced loads.
# style: shared
# expect: slower
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = r"""
#include <torch/extension.h>

__global__ void block_sum(const float* x, float* out, int reduce, int inner) {
    __shared__ float s[128];
    const int64_t o = blockIdx.x / inner, i = blockIdx.x % inner;
    const float* base = x + o * reduce * inner + i;
    float v = 0.f;
    for (int r = threadIdx.x; r < reduce; r += blockDim.x) v += base[(int64_t)r * inner];
    s[threadIdx.x] = v;
    __syncthreads();
    for (int step = 1; step < blockDim.x; step *= 2) {  // interleaved addressing
        if (threadIdx.x % (2 * step) == 0) s[threadIdx.x] += s[threadIdx.x + step];
        __syncthreads();
    }
    if (threadIdx.x == 0) out[blockIdx.x] = s[0];
}

torch::Tensor sum_reduce(torch::Tensor x) {
    const int outer = x.size(0), reduce = x.size(1), inner = x.size(2);
    auto out = torch::empty({outer, 1, inner}, x.options());
    block_sum<<<outer * inner, 128>>>(x.data_ptr<float>(), out.data_ptr<float>(), reduce, inner);
    cudaDeviceSynchronize();
    return out;
}
"""

ext = load_inline(
    name="sum_block_per_output",
    cpp_sources="torch::Tensor sum_reduce(torch::Tensor x);",
    cuda_sources=source,
    functions=["sum_reduce"],
)


class ModelNew(nn.Module):
    def __init__(self, dim: int):
        super().__init__()
        if dim != 1:
            raise ValueError("this kernel reduces dimension 1")
        self.dim = dim

    def forward(self, x):
        return ext.sum_reduce(x.contiguous())
