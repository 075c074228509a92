"""A block reduction of CUB."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

CUDA = r"""
#include <torch/extension.h>
#include <cub/block/block_reduce.cuh>

template <int THREADS>
__global__ void row_sum_kernel(const float* x, float* y, int columns) {
    using Reduce = cub::BlockReduce<float, THREADS>;
    __shared__ typename Reduce::TempStorage storage;
    float sum = 0.0f;
    for (int i = threadIdx.x; i < columns; i += THREADS) sum += x[static_cast<int64_t>(blockIdx.x) * columns + i];
    const float total = Reduce(storage).Sum(sum);
    if (threadIdx.x == 0) y[blockIdx.x] = total;
}

torch::Tensor row_sum(torch::Tensor x) {
    auto y = torch::empty({x.size(0)}, x.options());
    row_sum_kernel<256><<<x.size(0), 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.size(1));
    return y;
}
"""

CPP = r"""
torch::Tensor row_sum(torch::Tensor x);
"""

kernels = load_inline(
    name="row_sum_cub",
    cpp_sources=CPP,
    cuda_sources=CUDA,
    functions=["row_sum"],
)


class ModelNew(nn.Module):
    def forward(self, x):
        return kernels.row_sum(x)
