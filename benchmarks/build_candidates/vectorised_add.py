"""float4 loads, a scalar tail, functions as a dict, a typed accessor."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

CUDA = r"""
#include <torch/types.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAStream.h>
#include <algorithm>
#include <cstdint>

__global__ void add4(const float4* __restrict__ a, const float4* __restrict__ b, float4* __restrict__ c, int count) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
        const float4 left = a[i], right = b[i];
        c[i] = make_float4(left.x + right.x, left.y + right.y, left.z + right.z, left.w + right.w);
    }
}

__global__ void add1(torch::PackedTensorAccessor32<float, 1, torch::RestrictPtrTraits> a,
                     torch::PackedTensorAccessor32<float, 1, torch::RestrictPtrTraits> b,
                     torch::PackedTensorAccessor32<float, 1, torch::RestrictPtrTraits> c, int start) {
    const int i = start + threadIdx.x;
    if (i < c.size(0)) c[i] = a[i] + b[i];
}

torch::Tensor add(torch::Tensor a, torch::Tensor b) {
    TORCH_CHECK(a.sizes() == b.sizes(), "shapes differ: ", a.sizes(), " and ", b.sizes());
    auto c = torch::empty_like(a);
    const int vectors = a.numel() / 4;
    const auto stream = at::cuda::getCurrentCUDAStream();
    const int blocks = std::min<int64_t>((vectors + 255) / 256, 1024);
    if (vectors) {
        add4<<<blocks, 256, 0, stream>>>(reinterpret_cast<const float4*>(a.data_ptr<float>()),
                                         reinterpret_cast<const float4*>(b.data_ptr<float>()),
                                         reinterpret_cast<float4*>(c.data_ptr<float>()), vectors);
    }
    const auto flat_a = a.flatten(), flat_b = b.flatten(), flat_c = c.view(-1);
    add1<<<1, 4, 0, stream>>>(flat_a.packed_accessor32<float, 1, torch::RestrictPtrTraits>(),
                              flat_b.packed_accessor32<float, 1, torch::RestrictPtrTraits>(),
                              flat_c.packed_accessor32<float, 1, torch::RestrictPtrTraits>(), vectors * 4);
    C10_CUDA_KERNEL_LAUNCH_CHECK();
    return c;
}
"""

CPP = r"""
torch::Tensor add(torch::Tensor a, torch::Tensor b);
"""

kernels = load_inline(
    name="vectorised_add",
    cpp_sources=CPP,
    cuda_sources=CUDA,
    functions={"add": "a + b"},
)


class ModelNew(nn.Module):
    def forward(self, a, b):
        return kernels.add(a, b)
