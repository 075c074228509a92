# Grid-stride loop over a grid of 128 blocks, too few to keep the memory busy.
# style: naive
# expect: slower
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = """
#include <torch/extension.h>

__global__ void relu_grid_stride(const float* __restrict__ in, float* __restrict__ out, const size_t n) {
    size_t stride = (size_t)blockDim.x * gridDim.x;
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride) {
        out[i] = fmaxf(in[i], 0.0f);
    }
}

torch::Tensor relu_forward(torch::Tensor input) {
    auto output = torch::zeros_like(input);
    const int threads = 256;
    const int blocks = 128;
    relu_grid_stride<<<blocks, threads>>>(input.data_ptr<float>(), output.data_ptr<float>(), input.numel());
    return output;
}
"""

relu_ext = load_inline(
    name="relu_grid_stride_ext",
    cpp_sources="torch::Tensor relu_forward(torch::Tensor input);",
    cuda_sources=source,
    functions=["relu_forward"],
    extra_cuda_cflags=["-O2"],
)


class ModelNew(nn.Module):
    """Same interface as the reference."""

    def forward(self, x):
        if not x.is_contiguous():
            x = x.contiguous()
        return relu_ext.relu_forward(x)
