# One thread a row: 65535 sequential additions of absolute values in one float, then 65535 divisions.
# style: naive
# expect: slower
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

l1_source = """
#include <torch/extension.h>
#include <cuda_runtime.h>

__global__ void l1_norm_kernel(const float* x, float* out, int rows, int dim) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    const float* in = x + (size_t)row * dim;
    float* o = out + (size_t)row * dim;
    float sum = 0.0f;
    for (int i = 0; i < dim; i++) {
        sum += fabsf(in[i]);
    }
    float mean = sum / dim;
    for (int i = 0; i < dim; i++) {
        o[i] = in[i] / mean;
    }
}

torch::Tensor l1_norm(torch::Tensor x) {
    auto out = torch::empty_like(x);
    int rows = x.size(0), dim = x.size(1);
    l1_norm_kernel<<<(rows + 127) / 128, 128>>>(x.data_ptr<float>(), out.data_ptr<float>(), rows, dim);
    return out;
}
"""

l1 = load_inline(
    name="l1_norm_rows",
    cpp_sources="torch::Tensor l1_norm(torch::Tensor x);",
    cuda_sources=l1_source,
    functions=["l1_norm"],
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return l1.l1_norm(x.contiguous())
