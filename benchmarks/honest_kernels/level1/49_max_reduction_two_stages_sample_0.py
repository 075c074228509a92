# Two launches: maxima of 64 pieces of the dimension into a buffer, then the maximum of those.
# style: several_launches
# expect: about
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = r"""
#include <torch/extension.h>
#include <math.h>

#define PIECES 64

__global__ void max_stage1(const float* x, float* partial, int reduce, int inner) {
    const int col = blockIdx.x * blockDim.x + threadIdx.x;
    if (col >= inner) return;
    const int64_t b = blockIdx.z;
    const int piece = blockIdx.y;
    const int length = (reduce + PIECES - 1) / PIECES;
    const int begin = piece * length, end = min(begin + length, reduce);
    float m = -INFINITY;
    for (int r = begin; r < end; ++r) m = fmaxf(m, x[(b * reduce + r) * inner + col]);
    partial[(b * PIECES + piece) * inner + col] = m;
}

__global__ void max_stage2(const float* partial, float* out, int inner, int64_t total) {
    const int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= total) return;
    const int64_t b = i / inner, col = i % inner;
    float m = -INFINITY;
    for (int p = 0; p < PIECES; ++p) m = fmaxf(m, partial[(b * PIECES + p) * inner + col]);
    out[i] = m;
}

torch::Tensor max_dim1(torch::Tensor x) {
    const int64_t b = x.size(0), reduce = x.size(1), inner = x.size(2);
    auto partial = torch::empty({b, PIECES, inner}, x.options());
    auto out = torch::empty({b, inner}, x.options());
    max_stage1<<<dim3((inner + 127) / 128, PIECES, b), 128>>>(
        x.data_ptr<float>(), partial.data_ptr<float>(), reduce, inner);
    max_stage2<<<(b * inner + 255) / 256, 256>>>(partial.data_ptr<float>(), out.data_ptr<float>(), inner, b * inner);
    return out;
}
"""

ext = load_inline(
    name="max_two_stages",
    cpp_sources="torch::Tensor max_dim1(torch::Tensor x);",
    cuda_sources=source,
    functions=["max_dim1"],
)


class ModelNew(nn.Module):
    def __init__(self, dim: int):
        super().__init__()
        self.dim = dim

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if self.dim not in (1, -2):
            x = x.transpose(1, self.dim)
        return ext.max_dim1(x.contiguous())
