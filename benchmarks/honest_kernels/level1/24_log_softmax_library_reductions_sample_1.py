# PyTorch finds the maximum, an own kernel exponentiates into a temporary, PyTorch sums it, an own kernel subtracts.
# style: library, several_launches
# expect: slower
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_code = """
#include <torch/extension.h>

__global__ void exp_shifted(const float* x, const float* row_max, float* e, int64_t cols, int64_t n) {
    int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) e[i] = expf(x[i] - row_max[i / cols]);
}

__global__ void subtract(const float* x, const float* row_max, const float* row_sum, float* y, int64_t cols,
                         int64_t n) {
    int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        int64_t r = i / cols;
        y[i] = x[i] - row_max[r] - logf(row_sum[r]);
    }
}

torch::Tensor log_softmax_forward(torch::Tensor x) {
    const int64_t n = x.numel(), cols = x.size(1);
    const int64_t blocks = (n + 255) / 256;
    auto row_max = x.amax(1);
    auto e = torch::empty_like(x);
    exp_shifted<<<blocks, 256>>>(x.data_ptr<float>(), row_max.data_ptr<float>(), e.data_ptr<float>(), cols, n);
    auto row_sum = e.sum(1);
    auto y = torch::empty_like(x);
    subtract<<<blocks, 256>>>(x.data_ptr<float>(), row_max.data_ptr<float>(), row_sum.data_ptr<float>(),
                              y.data_ptr<float>(), cols, n);
    return y;
}
"""

ext = load_inline(
    name="log_softmax_mixed",
    cpp_sources="torch::Tensor log_softmax_forward(torch::Tensor x);",
    cuda_sources=cuda_code,
    functions=["log_softmax_forward"],
)


class ModelNew(nn.Module):
    def __init__(self, dim: int = 1):
        super().__init__()
        self.dim = dim

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if self.dim not in (1, -1) or x.dim() != 2:
            raise NotImplementedError("only the rows of a matrix")
        return ext.log_softmax_forward(x.contiguous())
