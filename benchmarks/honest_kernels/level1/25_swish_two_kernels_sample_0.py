# One kernel for the sigmoid, one for the product, a temporary tensor between them.
# style: several_launches, naive
# expect: about
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

swish_cuda = """
#include <torch/extension.h>

__global__ void sigmoid_kernel(const float* x, float* s, long long n) {
    long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) s[i] = 1.0f / (1.0f + expf(-x[i]));
}

__global__ void multiply_kernel(const float* a, const float* b, float* c, long long n) {
    long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) c[i] = a[i] * b[i];
}

torch::Tensor sigmoid_op(torch::Tensor x) {
    auto s = torch::empty_like(x);
    long long n = x.numel();
    sigmoid_kernel<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), s.data_ptr<float>(), n);
    return s;
}

torch::Tensor multiply_op(torch::Tensor a, torch::Tensor b) {
    auto c = torch::empty_like(a);
    long long n = a.numel();
    multiply_kernel<<<(n + 255) / 256, 256>>>(a.data_ptr<float>(), b.data_ptr<float>(), c.data_ptr<float>(), n);
    return c;
}
"""

swish_cpp = """
torch::Tensor sigmoid_op(torch::Tensor x);
torch::Tensor multiply_op(torch::Tensor a, torch::Tensor b);
"""

ops = load_inline(
    name="swish_two_ops", cpp_sources=swish_cpp, cuda_sources=swish_cuda, functions=["sigmoid_op", "multiply_op"]
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x.contiguous()
        s = ops.sigmoid_op(x)
        return ops.multiply_op(x, s)
