# One block of 64 threads a pixel, a thread for each channel: every load of a warp touches 32 lines.
# style: shared, naive
# expect: slower
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_source = r"""
#include <torch/extension.h>

__global__ void rms_norm_kernel(const float* x, float* y, int features, int spatial, float eps) {
    __shared__ float partial[64];
    const int t = threadIdx.x;
    const long long sample = blockIdx.x / spatial, pixel = blockIdx.x % spatial;
    const long long base = sample * features * spatial + pixel;
    float acc = 0.f;
    for (int c = t; c < features; c += 64) {
        const float v = x[base + (long long)c * spatial];
        acc += v * v;
    }
    partial[t] = acc;
    __syncthreads();
    for (int s = 32; s > 0; s >>= 1) {
        if (t < s) partial[t] += partial[t + s];
        __syncthreads();
    }
    const float inv_rms = 1.0f / sqrtf(partial[0] / features + eps);
    for (int c = t; c < features; c += 64) {
        y[base + (long long)c * spatial] = x[base + (long long)c * spatial] * inv_rms;
    }
}

torch::Tensor rms_norm_cuda(torch::Tensor x, float eps) {
    auto y = torch::empty_like(x);
    const int spatial = x.size(2) * x.size(3);
    rms_norm_kernel<<<(unsigned)(x.size(0) * spatial), 64>>>(
        x.data_ptr<float>(), y.data_ptr<float>(), x.size(1), spatial, eps);
    return y;
}
"""

rms = load_inline(
    name="rms_block_per_pixel",
    cpp_sources="torch::Tensor rms_norm_cuda(torch::Tensor x, float eps);",
    cuda_sources=cuda_source,
    functions=["rms_norm_cuda"],
)


class ModelNew(nn.Module):
    def __init__(self, num_features: int, eps: float = 1e-5):
        super().__init__()
        self.num_features = num_features
        self.eps = eps

    def forward(self, x):
        return rms.rms_norm_cuda(x.contiguous(), self.eps)
