# Each thread takes eight elements beside each other with scalar loads: neighbouring threads are 32 bytes apart.
# style: naive
# expect: slower
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

ELEMENTS = 8

kernel = f"""
#include <torch/extension.h>
#define ELEMENTS_PER_THREAD {ELEMENTS}

__global__ void leaky_relu_kernel(const float* x, float* y, const float alpha, const int64_t total) {{
    int64_t base = ((int64_t)blockIdx.x * blockDim.x + threadIdx.x) * ELEMENTS_PER_THREAD;
    for (int k = 0; k < ELEMENTS_PER_THREAD; k++) {{
        int64_t idx = base + k;
        if (idx < total) {{
            float val = x[idx];
            y[idx] = (val >= 0.0f) ? val : alpha * val;
        }}
    }}
}}

torch::Tensor leaky_relu_cuda(torch::Tensor x, float alpha) {{
    torch::Tensor y = torch::empty_like(x);
    int64_t total = x.numel();
    int64_t per_block = 256 * ELEMENTS_PER_THREAD;
    leaky_relu_kernel<<<(total + per_block - 1) / per_block, 256>>>(
        x.data_ptr<float>(), y.data_ptr<float>(), alpha, total);
    return y;
}}
"""

leaky_relu_module = load_inline(
    name="leaky_relu_eight",
    cpp_sources="torch::Tensor leaky_relu_cuda(torch::Tensor x, float alpha);",
    cuda_sources=kernel,
    functions=["leaky_relu_cuda"],
)


class ModelNew(nn.Module):
    def __init__(self, negative_slope: float = 0.01):
        super().__init__()
        self.negative_slope = negative_slope

    def forward(self, x):
        return leaky_relu_module.leaky_relu_cuda(x.contiguous(), self.negative_slope)
