# AT_DISPATCH over the floating types, and tanh of the C library for doubles: many times the arithmetic of tanhf.
# style: naive
# expect: slower
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

tanh_cuda_source = r"""
#include <torch/extension.h>
#include <cuda.h>
#include <cuda_runtime.h>

template <typename scalar_t>
__global__ void tanh_kernel(const scalar_t* __restrict__ in, scalar_t* __restrict__ out, int64_t n) {
    const int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
    if (i < n) out[i] = static_cast<scalar_t>(tanh(static_cast<double>(in[i])));
}

torch::Tensor tanh_forward(torch::Tensor input) {
    auto output = torch::empty_like(input);
    const int64_t n = input.numel();
    const int threads = 1024;
    const dim3 blocks((n + threads - 1) / threads);
    AT_DISPATCH_FLOATING_TYPES(input.scalar_type(), "tanh_forward", ([&] {
        tanh_kernel<scalar_t><<<blocks, threads>>>(input.data_ptr<scalar_t>(), output.data_ptr<scalar_t>(), n);
    }));
    return output;
}
"""

tanh_cpp_source = """
torch::Tensor tanh_forward(torch::Tensor input);
"""

tanh_module = load_inline(
    name="tanh_dispatch",
    cpp_sources=[tanh_cpp_source],
    cuda_sources=[tanh_cuda_source],
    functions=["tanh_forward"],
    with_cuda=True,
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return tanh_module.tanh_forward(x.contiguous())
