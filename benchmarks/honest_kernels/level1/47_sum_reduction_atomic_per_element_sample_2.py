# One thread for every element of the input, each with one atomicAdd onto its output.
# style: atomics, naive
# expect: slower
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_source = """
#include <torch/extension.h>
#include <cuda_runtime.h>

__global__ void atomic_sum_kernel(const float* x, float* out, int64_t reduce, int64_t inner, int64_t n) {
    int64_t idx = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (idx < n) {
        int64_t i = idx % inner;
        int64_t o = idx / (inner * reduce);
        atomicAdd(&out[o * inner + i], x[idx]);
    }
}

torch::Tensor atomic_sum(torch::Tensor x) {
    auto out = torch::zeros({x.size(0), 1, x.size(2)}, x.options());
    int64_t n = x.numel();
    atomic_sum_kernel<<<(n + 511) / 512, 512>>>(
        x.data_ptr<float>(), out.data_ptr<float>(), x.size(1), x.size(2), n);
    return out;
}
"""

ext = load_inline(
    name="atomic_sum",
    cpp_sources="torch::Tensor atomic_sum(torch::Tensor x);",
    cuda_sources=cuda_source,
    functions=["atomic_sum"],
)


class ModelNew(nn.Module):
    def __init__(self, dim: int):
        super().__init__()
        assert dim == 1
        self.dim = dim

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return ext.atomic_sum(x.contiguous())
