# One thread a pixel walks over the channels twice; neighbouring threads are neighbouring pixels.
# style: naive
# expect: faster
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

rms_norm_cuda = """
#include <torch/extension.h>
#include <cuda_runtime.h>

__global__ void rms_norm_kernel(const float* x, float* y, int features, int64_t spatial, int64_t total, float eps) {
    int64_t idx = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (idx >= total) return;
    int64_t b = idx / spatial;
    int64_t p = idx % spatial;
    const float* src = x + b * features * spatial + p;
    float* dst = y + b * features * spatial + p;
    float sum = 0.0f;
    for (int c = 0; c < features; c++) {
        float v = src[c * spatial];
        sum += v * v;
    }
    float rms = sqrtf(sum / features + eps);
    for (int c = 0; c < features; c++) {
        dst[c * spatial] = src[c * spatial] / rms;
    }
}

torch::Tensor rms_norm(torch::Tensor x, double eps) {
    auto y = torch::empty_like(x);
    int features = x.size(1);
    int64_t spatial = x.size(2) * x.size(3);
    int64_t total = x.size(0) * spatial;
    rms_norm_kernel<<<(total + 255) / 256, 256>>>(
        x.data_ptr<float>(), y.data_ptr<float>(), features, spatial, total, (float)eps);
    return y;
}
"""

ext = load_inline(
    name="rms_norm_pixels",
    cpp_sources="torch::Tensor rms_norm(torch::Tensor x, double eps);",
    cuda_sources=rms_norm_cuda,
    functions=["rms_norm"],
)


class ModelNew(nn.Module):
    def __init__(self, num_features: int, eps: float = 1e-5):
        super().__init__()
        self.num_features = num_features
        self.eps = eps

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return ext.rms_norm(x.contiguous(), self.eps)
