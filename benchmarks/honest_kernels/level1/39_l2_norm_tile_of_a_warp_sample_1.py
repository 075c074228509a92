# Cooperative groups: a tile of 32 threads a row, eight rows a block, the sum by cg::reduce.
# style: cooperative, shuffle
# expect: about
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_src = r"""
#include <torch/extension.h>
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>

namespace cg = cooperative_groups;

__global__ void l2_norm_warps(const float* __restrict__ x, float* __restrict__ y, int rows, int dim) {
    auto block = cg::this_thread_block();
    auto warp = cg::tiled_partition<32>(block);
    const int row = blockIdx.x * warp.meta_group_size() + warp.meta_group_rank();
    if (row >= rows) return;
    const float* in = x + (size_t)row * dim;
    float* out = y + (size_t)row * dim;
    float s = 0.f;
    for (int i = warp.thread_rank(); i < dim; i += 32) s += in[i] * in[i];
    s = cg::reduce(warp, s, cg::plus<float>());
    const float norm = sqrtf(s);
    for (int i = warp.thread_rank(); i < dim; i += 32) out[i] = in[i] / norm;
}

torch::Tensor l2_norm_forward(torch::Tensor x) {
    auto y = torch::empty_like(x);
    const int rows = x.size(0), dim = x.size(1);
    l2_norm_warps<<<(rows + 7) / 8, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), rows, dim);
    return y;
}
"""

ext = load_inline(
    name="l2_norm_warps",
    cpp_sources="torch::Tensor l2_norm_forward(torch::Tensor x);",
    cuda_sources=cuda_src,
    functions=["l2_norm_forward"],
)


class ModelNew(nn.Module):
    def forward(self, x):
        return ext.l2_norm_forward(x.contiguous())
