# One thread a row adds up 32768 elements in order.
# style: naive
# expect: slower
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cumsum_source = """
#include <torch/extension.h>
#include <cuda_runtime.h>

__global__ void cumsum_kernel(const float* x, float* out, int rows, int cols) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < rows) {
        float sum = 0.0f;
        size_t base = (size_t)row * cols;
        for (int i = 0; i < cols; i++) {
            sum += x[base + i];
            out[base + i] = sum;
        }
    }
}

torch::Tensor cumsum_cuda(torch::Tensor x) {
    auto out = torch::empty_like(x);
    int cols = x.size(-1);
    int rows = x.numel() / cols;
    cumsum_kernel<<<(rows + 63) / 64, 64>>>(x.data_ptr<float>(), out.data_ptr<float>(), rows, cols);
    return out;
}
"""

cumsum = load_inline(
    name="cumsum_rows",
    cpp_sources="torch::Tensor cumsum_cuda(torch::Tensor x);",
    cuda_sources=cumsum_source,
    functions=["cumsum_cuda"],
)


class ModelNew(nn.Module):
    def __init__(self, dim: int):
        super().__init__()
        self.dim = dim

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        assert self.dim in (-1, x.dim() - 1)
        return cumsum.cumsum_cuda(x.contiguous())
