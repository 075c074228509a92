# One block of 128 threads walks over each row; written for rows although the operation knows none.
# style: naive
# expect: slower
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

sigmoid_source = """
#include <torch/extension.h>
#include <cuda_runtime.h>
#include <math.h>

__global__ void sigmoid_rows(const float* input, float* output, int rows, int cols) {
    int row = blockIdx.x;
    if (row >= rows) return;
    const float* in_row = input + (size_t)row * cols;
    float* out_row = output + (size_t)row * cols;
    for (int col = threadIdx.x; col < cols; col += blockDim.x) {
        out_row[col] = 1.0f / (1.0f + expf(-in_row[col]));
    }
}

torch::Tensor sigmoid_cuda(torch::Tensor input) {
    input = input.contiguous();
    auto output = torch::empty_like(input);
    int rows = input.size(0);
    int cols = input.numel() / rows;
    sigmoid_rows<<<rows, 128>>>(input.data_ptr<float>(), output.data_ptr<float>(), rows, cols);
    return output;
}
"""

sigmoid_ext = load_inline(
    name="sigmoid_ext",
    cpp_sources="torch::Tensor sigmoid_cuda(torch::Tensor input);",
    cuda_sources=sigmoid_source,
    functions=["sigmoid_cuda"],
    verbose=True,
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x):
        return sigmoid_ext.sigmoid_cuda(x)
