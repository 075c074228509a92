# One warp a row, online maximum and sum merged by shuffles: few warps, a long way to go for each.
# style: shuffle, one_pass
# expect: slower
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_src = r"""
#include <torch/extension.h>
#include <float.h>

#define WARPS 4

__global__ void softmax_warp(const float* __restrict__ x, float* __restrict__ y, int rows, int cols) {
    const int lane = threadIdx.x % 32;
    const int row = blockIdx.x * WARPS + threadIdx.x / 32;
    if (row >= rows) return;  // a whole warp leaves
    const float* in = x + (int64_t)row * cols;
    float* out = y + (int64_t)row * cols;
    float m = -FLT_MAX, s = 0.0f;
    for (int c = lane; c < cols; c += 32) {
        const float v = in[c];
        const float bigger = fmaxf(m, v);
        s = s * expf(m - bigger) + expf(v - bigger);
        m = bigger;
    }
    for (int offset = 16; offset > 0; offset /= 2) {
        const float other_m = __shfl_xor_sync(0xffffffff, m, offset);
        const float other_s = __shfl_xor_sync(0xffffffff, s, offset);
        const float bigger = fmaxf(m, other_m);
        s = s * expf(m - bigger) + other_s * expf(other_m - bigger);
        m = bigger;
    }
    const float inv = 1.0f / s;
    for (int c = lane; c < cols; c += 32) out[c] = expf(in[c] - m) * inv;
}

torch::Tensor softmax_forward(torch::Tensor x) {
    x = x.contiguous();
    auto y = torch::empty_like(x);
    const int rows = x.size(0), cols = x.size(1);
    softmax_warp<<<(rows + WARPS - 1) / WARPS, WARPS * 32>>>(x.data_ptr<float>(), y.data_ptr<float>(), rows, cols);
    return y;
}
"""

ext = load_inline(
    name="softmax_warp_per_row",
    cpp_sources="torch::Tensor softmax_forward(torch::Tensor x);",
    cuda_sources=cuda_src,
    functions=["softmax_forward"],
)


class ModelNew(nn.Module):
    def forward(self, x):
        return ext.softmax_forward(x)
