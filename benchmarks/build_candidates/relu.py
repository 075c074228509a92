"""The least there is: no include of its own."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

CUDA = r"""
__global__ void relu_kernel(const float* x, float* y, int size) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < size) y[i] = fmaxf(x[i], 0.0f);
}

torch::Tensor relu_cuda(torch::Tensor x) {
    auto y = torch::empty_like(x);
    const int size = x.numel();
    relu_kernel<<<(size + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), size);
    return y;
}
"""

CPP = r"""
torch::Tensor relu_cuda(torch::Tensor x);
"""

kernels = load_inline(
    name="relu",
    cpp_sources=CPP,
    cuda_sources=CUDA,
    functions=["relu_cuda"],
    verbose=False,
)


class ModelNew(nn.Module):
    def forward(self, x):
        return kernels.relu_cuda(x.contiguous())
