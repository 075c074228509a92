# One block a row, warp shuffles, the mean handed round in shared memory; PyTorch's zeros for the output.
# style: shuffle, shared
# expect: faster
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_src = r"""
#include <torch/extension.h>
#include <c10/cuda/CUDAStream.h>

template <int THREADS>
__global__ void l1_norm_block(const float* __restrict__ x, float* __restrict__ y, const int64_t dim) {
    constexpr int WARPS = THREADS / 32;
    __shared__ float sums[WARPS];
    const float* row = x + blockIdx.x * dim;
    float acc = 0.f;
    for (int64_t i = threadIdx.x; i < dim; i += THREADS) acc += fabsf(row[i]);
    #pragma unroll
    for (int o = 16; o > 0; o >>= 1) acc += __shfl_xor_sync(0xffffffff, acc, o);
    if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = acc;
    __syncthreads();
    float total = 0.f;
    #pragma unroll
    for (int w = 0; w < WARPS; ++w) total += sums[w];
    const float scale = (float)dim / total;
    for (int64_t i = threadIdx.x; i < dim; i += THREADS) y[blockIdx.x * dim + i] = row[i] * scale;
}

torch::Tensor l1_norm(torch::Tensor x) {
    auto y = torch::zeros_like(x);
    l1_norm_block<512><<<x.size(0), 512, 0, c10::cuda::getCurrentCUDAStream()>>>(
        x.data_ptr<float>(), y.data_ptr<float>(), x.size(1));
    return y;
}
"""

ext = load_inline(
    name="l1_norm_block",
    cpp_sources="torch::Tensor l1_norm(torch::Tensor x);",
    cuda_sources=cuda_src,
    functions=["l1_norm"],
)


class ModelNew(nn.Module):
    def forward(self, x):
        return ext.l1_norm(x.contiguous())
