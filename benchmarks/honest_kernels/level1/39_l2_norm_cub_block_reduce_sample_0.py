# cub::BlockReduce over each row, then a division by the root that thread 0 has left in shared memory.
# style: shared
# expect: about
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = r"""
#include <torch/extension.h>
#include <cub/block/block_reduce.cuh>

constexpr int BLOCK = 256;

__global__ void l2_norm_kernel(const float* x, float* y, int dim) {
    using BlockReduce = cub::BlockReduce<float, BLOCK>;
    __shared__ typename BlockReduce::TempStorage storage;
    __shared__ float norm;
    const float* in = x + (int64_t)blockIdx.x * dim;
    float* out = y + (int64_t)blockIdx.x * dim;
    float sum = 0.f;
    for (int i = threadIdx.x; i < dim; i += BLOCK) sum += in[i] * in[i];
    const float total = BlockReduce(storage).Sum(sum);
    if (threadIdx.x == 0) norm = sqrtf(total);
    __syncthreads();
    for (int i = threadIdx.x; i < dim; i += BLOCK) out[i] = in[i] / norm;
}

torch::Tensor l2_norm(torch::Tensor x) {
    TORCH_CHECK(x.is_cuda(), "CUDA tensor expected");
    auto y = torch::empty_like(x);
    l2_norm_kernel<<<x.size(0), BLOCK>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.size(1));
    return y;
}
"""

l2 = load_inline(
    name="l2_norm_cub",
    cpp_sources="torch::Tensor l2_norm(torch::Tensor x);",
    cuda_sources=source,
    functions=["l2_norm"],
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return l2.l2_norm(x.contiguous())
