# A loop on the host launches one small kernel for each of the 4096 rows.
# style: several_launches
# expect: slower
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

selu_src = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>

__global__ void selu_row_kernel(const float* x, float* y, int n) {
    const float alpha = 1.6732632423543772848170429916717f;
    const float scale = 1.0507009873554804934193349852946f;
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float v = x[i];
        y[i] = v > 0.0f ? scale * v : scale * alpha * (expf(v) - 1.0f);
    }
}

torch::Tensor selu_cuda(torch::Tensor x) {
    auto y = torch::empty_like(x);
    int rows = x.size(0), n = x.size(1);
    int blocks = (n + 255) / 256;
    const float* in = x.data_ptr<float>();
    float* out = y.data_ptr<float>();
    for (int r = 0; r < rows; ++r) {
        selu_row_kernel<<<blocks, 256>>>(in + (int64_t)r * n, out + (int64_t)r * n, n);
    }
    return y;
}
"""

selu_ext = load_inline(
    name="selu_rows",
    cpp_sources="torch::Tensor selu_cuda(torch::Tensor x);",
    cuda_sources=selu_src,
    functions=["selu_cuda"],
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        out = selu_ext.selu_cuda(x.contiguous())
        torch.cuda.synchronize()
        return out
