# float4 loads and stores with a scalar kernel for the tail, current stream.
# style: vectorised, several_launches
# expect: about
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_src = r"""
#include <torch/extension.h>
#include <c10/cuda/CUDAStream.h>

__device__ __forceinline__ float leaky(float v, float slope) { return v > 0.f ? v : v * slope; }

__global__ void leaky_relu_vec4(const float4* __restrict__ x, float4* __restrict__ y, float slope, int64_t n4) {
    const int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n4) return;
    float4 v = x[i];
    v.x = leaky(v.x, slope);
    v.y = leaky(v.y, slope);
    v.z = leaky(v.z, slope);
    v.w = leaky(v.w, slope);
    y[i] = v;
}

__global__ void leaky_relu_tail(const float* x, float* y, float slope, int64_t start, int64_t n) {
    const int64_t i = start + threadIdx.x;
    if (i < n) y[i] = leaky(x[i], slope);
}

torch::Tensor leaky_relu_forward(torch::Tensor x, double negative_slope) {
    TORCH_CHECK(x.is_cuda(), "x must be a CUDA tensor");
    TORCH_CHECK(x.scalar_type() == torch::kFloat32, "x must be float32");
    auto xc = x.contiguous();
    auto y = torch::empty_like(xc);
    const int64_t n = xc.numel(), n4 = n / 4;
    auto stream = c10::cuda::getCurrentCUDAStream();
    const int threads = 512;
    if (n4 > 0) {
        leaky_relu_vec4<<<(unsigned)((n4 + threads - 1) / threads), threads, 0, stream>>>(
            reinterpret_cast<const float4*>(xc.data_ptr<float>()), reinterpret_cast<float4*>(y.data_ptr<float>()),
            (float)negative_slope, n4);
    }
    if (n4 * 4 < n) {
        leaky_relu_tail<<<1, 4, 0, stream>>>(xc.data_ptr<float>(), y.data_ptr<float>(), (float)negative_slope,
                                             n4 * 4, n);
    }
    return y;
}
"""

ext = load_inline(
    name="leaky_relu_vec4_ext",
    cpp_sources="torch::Tensor leaky_relu_forward(torch::Tensor x, double negative_slope);",
    cuda_sources=cuda_src,
    functions=["leaky_relu_forward"],
    extra_cflags=["-O3"],
    extra_cuda_cflags=["-O3"],
)


class ModelNew(nn.Module):
    def __init__(self, negative_slope: float = 0.01):
        super(ModelNew, self).__init__()
        self.negative_slope = negative_slope

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return ext.leaky_relu_forward(x, self.negative_slope)
