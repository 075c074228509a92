# AT_DISPATCH, log1p of exp with PyTorch's threshold at 20, four elements a thread a block apart.
# style: naive
# expect: about
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_source = r"""
#include <torch/extension.h>
#include <c10/cuda/CUDAStream.h>

constexpr int kThreads = 256;
constexpr int kItems = 4;

template <typename scalar_t>
__global__ void softplus_kernel(const scalar_t* __restrict__ x, scalar_t* __restrict__ y, int64_t n) {
    int64_t i = (int64_t)blockIdx.x * kThreads * kItems + threadIdx.x;
    #pragma unroll
    for (int k = 0; k < kItems; ++k, i += kThreads) {
        if (i < n) {
            const scalar_t v = x[i];
            y[i] = v > scalar_t(20) ? v : log1p(exp(v));
        }
    }
}

torch::Tensor softplus(torch::Tensor x) {
    auto y = torch::empty_like(x);
    const int64_t n = x.numel();
    const int64_t blocks = (n + kThreads * kItems - 1) / (kThreads * kItems);
    auto stream = c10::cuda::getCurrentCUDAStream();
    AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "softplus", [&] {
        softplus_kernel<scalar_t><<<blocks, kThreads, 0, stream>>>(
            x.data_ptr<scalar_t>(), y.data_ptr<scalar_t>(), n);
    });
    return y;
}
"""

softplus_ext = load_inline(
    name="softplus_dispatch",
    cpp_sources="torch::Tensor softplus(torch::Tensor x);",
    cuda_sources=cuda_source,
    functions=["softplus"],
    extra_cuda_cflags=["-O3"],
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x):
        return softplus_ext.softplus(x.contiguous())
