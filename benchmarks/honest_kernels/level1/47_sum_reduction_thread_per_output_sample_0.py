# One thread an output adds its 4096 terms in order.
# style: naive
# expect: about
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

sum_src = """
#include <torch/extension.h>
#include <cuda_runtime.h>

__global__ void sum_dim_kernel(const float* x, float* out, int64_t outer, int64_t reduce, int64_t inner) {
    int64_t idx = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (idx >= outer * inner) return;
    int64_t o = idx / inner, i = idx % inner;
    const float* p = x + o * reduce * inner + i;
    float sum = 0.0f;
    for (int64_t r = 0; r < reduce; ++r) {
        sum += p[r * inner];
    }
    out[idx] = sum;
}

torch::Tensor sum_dim(torch::Tensor x, int64_t dim) {
    if (dim < 0) dim += x.dim();
    int64_t outer = 1, inner = 1;
    for (int64_t d = 0; d < dim; ++d) outer *= x.size(d);
    for (int64_t d = dim + 1; d < x.dim(); ++d) inner *= x.size(d);
    auto shape = x.sizes().vec();
    shape[dim] = 1;
    auto out = torch::empty(shape, x.options());
    int64_t n = outer * inner;
    sum_dim_kernel<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), out.data_ptr<float>(), outer, x.size(dim), inner);
    return out;
}
"""

sum_ext = load_inline(
    name="sum_dim_ext",
    cpp_sources="torch::Tensor sum_dim(torch::Tensor x, int64_t dim);",
    cuda_sources=sum_src,
    functions=["sum_dim"],
)


class ModelNew(nn.Module):
    def __init__(self, dim: int):
        super().__init__()
        self.dim = dim

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return sum_ext.sum_dim(x.contiguous(), self.dim)
