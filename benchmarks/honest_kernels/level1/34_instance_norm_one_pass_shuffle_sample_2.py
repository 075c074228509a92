# E[x^2] - E[x]^2 in one pass with float4 loads where they are aligned, warp shuffles, 1024 threads a plane.
# style: one_pass, shuffle, vectorised
# expect: about
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_source = r"""
#include <torch/extension.h>

template <bool VEC>
__global__ void __launch_bounds__(1024) inorm(const float* __restrict__ in, float* __restrict__ out, int size,
                                              float eps) {
    const float* x = in + (int64_t)blockIdx.x * size;
    float* y = out + (int64_t)blockIdx.x * size;
    float s = 0.f, ss = 0.f;
    if (VEC) {
        const float4* x4 = reinterpret_cast<const float4*>(x);
        for (int i = threadIdx.x; i < size / 4; i += blockDim.x) {
            const float4 v = x4[i];
            s += v.x + v.y + v.z + v.w;
            ss += v.x * v.x + v.y * v.y + v.z * v.z + v.w * v.w;
        }
    } else {
        for (int i = threadIdx.x; i < size; i += blockDim.x) {
            s += x[i];
            ss += x[i] * x[i];
        }
    }
    __shared__ float s_warp[32], ss_warp[32];
    __shared__ float mean_s, rstd_s;
    #pragma unroll
    for (int o = 16; o > 0; o >>= 1) {
        s += __shfl_xor_sync(0xffffffffu, s, o);
        ss += __shfl_xor_sync(0xffffffffu, ss, o);
    }
    if ((threadIdx.x & 31) == 0) {
        s_warp[threadIdx.x >> 5] = s;
        ss_warp[threadIdx.x >> 5] = ss;
    }
    __syncthreads();
    if (threadIdx.x < 32) {
        s = s_warp[threadIdx.x];
        ss = ss_warp[threadIdx.x];
        #pragma unroll
        for (int o = 16; o > 0; o >>= 1) {
            s += __shfl_xor_sync(0xffffffffu, s, o);
            ss += __shfl_xor_sync(0xffffffffu, ss, o);
        }
        if (threadIdx.x == 0) {
            mean_s = s / size;
            rstd_s = rsqrtf(fmaxf(ss / size - mean_s * mean_s, 0.f) + eps);
        }
    }
    __syncthreads();
    const float mean = mean_s, rstd = rstd_s;
    for (int i = threadIdx.x; i < size; i += blockDim.x) y[i] = (x[i] - mean) * rstd;
}

torch::Tensor inorm_forward(torch::Tensor x, double eps) {
    auto y = torch::empty_like(x);
    const int planes = x.size(0) * x.size(1), size = x.size(2) * x.size(3);
    if (size % 4 == 0) {
        inorm<true><<<planes, 1024>>>(x.data_ptr<float>(), y.data_ptr<float>(), size, eps);
    } else {
        inorm<false><<<planes, 1024>>>(x.data_ptr<float>(), y.data_ptr<float>(), size, eps);
    }
    return y;
}
"""

ext = load_inline(
    name="inorm_one_pass",
    cpp_sources="torch::Tensor inorm_forward(torch::Tensor x, double eps);",
    cuda_sources=cuda_source,
    functions=["inorm_forward"],
)


class ModelNew(nn.Module):
    def __init__(self, num_features: int):
        super().__init__()
        self.inorm = nn.InstanceNorm2d(num_features)

    def forward(self, x):
        return ext.inorm_forward(x.contiguous(), self.inorm.eps)
