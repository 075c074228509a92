# One thread an output, the first of the largest kept by a strict comparison.
# style: naive
# expect: faster
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

argmax_source = """
#include <torch/extension.h>
#include <cuda_runtime.h>

__global__ void argmax_kernel(const float* x, int64_t* out, int64_t outer, int64_t dim_size, int64_t inner) {
    int64_t idx = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (idx >= outer * inner) return;
    int64_t o = idx / inner;
    int64_t i = idx % inner;
    const float* p = x + o * dim_size * inner + i;
    float best = p[0];
    int64_t best_idx = 0;
    for (int64_t d = 1; d < dim_size; d++) {
        float v = p[d * inner];
        if (v > best) {
            best = v;
            best_idx = d;
        }
    }
    out[idx] = best_idx;
}

torch::Tensor argmax_cuda(torch::Tensor x, int64_t dim) {
    int64_t outer = 1, inner = 1;
    std::vector<int64_t> shape;
    for (int64_t d = 0; d < x.dim(); d++) {
        if (d < dim) outer *= x.size(d);
        if (d > dim) inner *= x.size(d);
        if (d != dim) shape.push_back(x.size(d));
    }
    auto out = torch::empty(shape, x.options().dtype(torch::kInt64));
    int64_t n = outer * inner;
    argmax_kernel<<<(n + 127) / 128, 128>>>(
        x.data_ptr<float>(), out.data_ptr<int64_t>(), outer, x.size(dim), inner);
    return out;
}
"""

argmax = load_inline(
    name="argmax_naive",
    cpp_sources="torch::Tensor argmax_cuda(torch::Tensor x, int64_t dim);",
    cuda_sources=argmax_source,
    functions=["argmax_cuda"],
)


class ModelNew(nn.Module):
    def __init__(self, dim: int):
        super().__init__()
        self.dim = dim

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return argmax.argmax_cuda(x.contiguous(), self.dim % x.dim())
