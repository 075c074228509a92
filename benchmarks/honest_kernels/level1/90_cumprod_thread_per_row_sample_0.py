# One thread a row multiplies in order, AT_DISPATCH, general position of the dimension.
# style: naive
# expect: slower
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = r"""
#include <torch/extension.h>

template <typename scalar_t>
__global__ void cumprod_kernel(const scalar_t* x, scalar_t* y, int64_t outer, int64_t length, int64_t inner) {
    const int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= outer * inner) return;
    const int64_t base = i / inner * length * inner + i % inner;
    scalar_t product = 1;
    for (int64_t k = 0; k < length; ++k) {
        product *= x[base + k * inner];
        y[base + k * inner] = product;
    }
}

torch::Tensor cumprod_forward(torch::Tensor x, int64_t dim) {
    auto y = torch::empty_like(x);
    int64_t outer = 1, inner = 1;
    for (int64_t d = 0; d < x.dim(); ++d) {
        if (d < dim) outer *= x.size(d);
        if (d > dim) inner *= x.size(d);
    }
    const int threads = 256;
    const int blocks = (outer * inner + threads - 1) / threads;
    AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "cumprod_forward", ([&] {
        cumprod_kernel<scalar_t><<<blocks, threads>>>(
            x.data_ptr<scalar_t>(), y.data_ptr<scalar_t>(), outer, x.size(dim), inner);
    }));
    return y;
}
"""

ext = load_inline(
    name="cumprod_naive",
    cpp_sources="torch::Tensor cumprod_forward(torch::Tensor x, int64_t dim);",
    cuda_sources=source,
    functions=["cumprod_forward"],
)


class ModelNew(nn.Module):
    def __init__(self, dim: int):
        super().__init__()
        self.dim = dim

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return ext.cumprod_forward(x.contiguous(), self.dim % x.dim())
