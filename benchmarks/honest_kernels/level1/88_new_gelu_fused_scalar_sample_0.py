# One fused kernel for what the reference does in eight; powf for the cube, as the formula says.
# style: naive
# expect: faster
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

gelu_src = """
#include <torch/extension.h>
#include <cuda_runtime.h>
#include <math.h>

__global__ void new_gelu_kernel(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        const float v = x[i];
        const float inner = sqrtf(2.0f / 3.14159265358979323846f) * (v + 0.044715f * powf(v, 3.0f));
        y[i] = 0.5f * v * (1.0f + tanhf(inner));
    }
}

torch::Tensor new_gelu(torch::Tensor x) {
    auto y = torch::empty_like(x);
    int n = x.numel();
    new_gelu_kernel<<<(n + 127) / 128, 128>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
    return y;
}
"""

module = load_inline(
    name="new_gelu_fused",
    cpp_sources="torch::Tensor new_gelu(torch::Tensor x);",
    cuda_sources=gelu_src,
    functions=["new_gelu"],
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x):
        return module.new_gelu(x.contiguous())
