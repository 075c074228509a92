# Blocks of 32 by 32 threads whose x runs down the rows: neighbouring threads are a whole row apart.
# style: naive
# expect: slower
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

hardtanh_cuda = """
#include <torch/extension.h>

__global__ void hardtanh_kernel(const float* x, float* y, float lo, float hi, int rows, int cols) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    int col = blockIdx.y * blockDim.y + threadIdx.y;
    if (row < rows && col < cols) {
        long idx = (long)row * cols + col;
        y[idx] = fminf(fmaxf(x[idx], lo), hi);
    }
}

torch::Tensor hardtanh_forward(torch::Tensor x, double min_val, double max_val) {
    auto y = torch::empty_like(x);
    int rows = x.size(0), cols = x.size(1);
    dim3 block(32, 32);
    dim3 grid((rows + 31) / 32, (cols + 31) / 32);
    hardtanh_kernel<<<grid, block>>>(x.data_ptr<float>(), y.data_ptr<float>(), min_val, max_val, rows, cols);
    return y;
}
"""

hardtanh_ext = load_inline(
    name="hardtanh_ext",
    cpp_sources="torch::Tensor hardtanh_forward(torch::Tensor x, double min_val, double max_val);",
    cuda_sources=hardtanh_cuda,
    functions=["hardtanh_forward"],
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return hardtanh_ext.hardtanh_forward(x.contiguous(), -1.0, 1.0)
