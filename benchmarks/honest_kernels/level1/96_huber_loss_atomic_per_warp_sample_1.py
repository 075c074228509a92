# float4 loads, shuffles inside the warp, one atomicAdd a warp: no shared memory at all.
# style: vectorised, shuffle, atomics
# expect: faster
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = r"""
#include <torch/extension.h>

__device__ __forceinline__ float huber(float a, float b) {
    const float d = fabsf(a - b);
    return d < 1.f ? 0.5f * d * d : d - 0.5f;
}

__global__ void huber_sum(const float* __restrict__ a, const float* __restrict__ b, float* total, int64_t n) {
    const int64_t thread = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    const int64_t step = (int64_t)gridDim.x * blockDim.x;
    const float4* a4 = reinterpret_cast<const float4*>(a);
    const float4* b4 = reinterpret_cast<const float4*>(b);
    float sum = 0.f;
    for (int64_t i = thread; i < n / 4; i += step) {
        const float4 u = a4[i], v = b4[i];
        sum += huber(u.x, v.x) + huber(u.y, v.y) + huber(u.z, v.z) + huber(u.w, v.w);
    }
    for (int64_t i = n / 4 * 4 + thread; i < n; i += step) sum += huber(a[i], b[i]);
    #pragma unroll
    for (int o = 16; o > 0; o >>= 1) sum += __shfl_down_sync(0xffffffff, sum, o);
    if (threadIdx.x % 32 == 0) atomicAdd(total, sum);
}

torch::Tensor huber_loss(torch::Tensor a, torch::Tensor b) {
    auto total = torch::zeros({1}, a.options());
    huber_sum<<<1320, 256>>>(a.data_ptr<float>(), b.data_ptr<float>(), total.data_ptr<float>(), a.numel());
    return total.div_(a.numel()).squeeze(0);
}
"""

ext = load_inline(
    name="huber_warps",
    cpp_sources="torch::Tensor huber_loss(torch::Tensor a, torch::Tensor b);",
    cuda_sources=source,
    functions=["huber_loss"],
)


class ModelNew(nn.Module):
    def forward(self, predictions, targets):
        return ext.huber_loss(predictions.contiguous(), targets.contiguous())
