# A 16 by 16 block over rows and columns, as for a matrix: half a warp reads one row, half the next.
# style: tiled, naive
# expect: slower
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = """
#include <torch/extension.h>
#include <cuda_runtime.h>

__global__ void hardsigmoid_2d(const float* x, float* y, int rows, int cols) {
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row < rows && col < cols) {
        size_t idx = (size_t)row * cols + col;
        float v = x[idx] + 3.0f;
        v = v < 0.0f ? 0.0f : (v > 6.0f ? 6.0f : v);
        y[idx] = v / 6.0f;
    }
}

torch::Tensor hardsigmoid_cuda(torch::Tensor x) {
    int rows = x.size(0);
    int cols = x.size(1);
    auto y = torch::zeros({rows, cols}, x.options());
    dim3 threads(16, 16);
    dim3 blocks((cols + 15) / 16, (rows + 15) / 16);
    hardsigmoid_2d<<<blocks, threads>>>(x.data_ptr<float>(), y.data_ptr<float>(), rows, cols);
    return y;
}
"""

module = load_inline(
    name="hardsigmoid_2d",
    cpp_sources="torch::Tensor hardsigmoid_cuda(torch::Tensor x);",
    cuda_sources=source,
    functions=["hardsigmoid_cuda"],
    verbose=False,
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return module.hardsigmoid_cuda(x.contiguous())
