# One block a channel finds mean and variance in two passes, a second kernel normalises: 64 blocks on 132 processors.
# style: shared, several_launches
# expect: slower
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

bn_source = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>

#define THREADS 512

__device__ float block_sum(float v, float* buf) {
    buf[threadIdx.x] = v;
    __syncthreads();
    for (int s = THREADS / 2; s > 0; s >>= 1) {
        if (threadIdx.x < s) buf[threadIdx.x] += buf[threadIdx.x + s];
        __syncthreads();
    }
    float total = buf[0];
    __syncthreads();
    return total;
}

__global__ void bn_stats_kernel(const float* x, float* mean, float* var, int N, int C, int HW) {
    __shared__ float buf[THREADS];
    const int c = blockIdx.x;
    const float count = (float)N * HW;
    float sum = 0.0f;
    for (int n = 0; n < N; ++n) {
        const float* plane = x + ((int64_t)n * C + c) * HW;
        for (int i = threadIdx.x; i < HW; i += THREADS) sum += plane[i];
    }
    const float m = block_sum(sum, buf) / count;
    float sq = 0.0f;
    for (int n = 0; n < N; ++n) {
        const float* plane = x + ((int64_t)n * C + c) * HW;
        for (int i = threadIdx.x; i < HW; i += THREADS) {
            const float d = plane[i] - m;
            sq += d * d;
        }
    }
    const float v = block_sum(sq, buf) / count;
    if (threadIdx.x == 0) {
        mean[c] = m;
        var[c] = v;
    }
}

__global__ void bn_apply_kernel(const float* x, const float* mean, const float* var, const float* weight,
                                const float* bias, float* y, float eps, int C, int HW, int64_t total) {
    const int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < total) {
        const int c = (i / HW) % C;
        y[i] = (x[i] - mean[c]) / sqrtf(var[c] + eps) * weight[c] + bias[c];
    }
}

std::vector<torch::Tensor> bn_forward(torch::Tensor x, torch::Tensor weight, torch::Tensor bias, double eps) {
    const int N = x.size(0), C = x.size(1), HW = x.size(2) * x.size(3);
    auto y = torch::empty_like(x);
    auto mean = torch::empty({C}, x.options());
    auto var = torch::empty({C}, x.options());
    bn_stats_kernel<<<C, THREADS>>>(x.data_ptr<float>(), mean.data_ptr<float>(), var.data_ptr<float>(), N, C, HW);
    const int64_t total = x.numel();
    bn_apply_kernel<<<(total + 255) / 256, 256>>>(
        x.data_ptr<float>(), mean.data_ptr<float>(), var.data_ptr<float>(), weight.data_ptr<float>(),
        bias.data_ptr<float>(), y.data_ptr<float>(), eps, C, HW, total);
    return {y, mean, var};
}
"""

bn_cpp = (
    "std::vector<torch::Tensor> bn_forward(torch::Tensor x, torch::Tensor weight, torch::Tensor bias, double eps);"
)

bn_ext = load_inline(
    name="bn_block_per_channel", cpp_sources=bn_cpp, cuda_sources=bn_source, functions=["bn_forward"]
)


class ModelNew(nn.Module):
    def __init__(self, num_features: int):
        super().__init__()
        self.bn = nn.BatchNorm2d(num_features)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x.contiguous()
        bn = self.bn
        y, mean, var = bn_ext.bn_forward(x, bn.weight, bn.bias, bn.eps)
        count = x.numel() / x.size(1)
        with torch.no_grad():
            bn.num_batches_tracked.add_(1)
            bn.running_mean.lerp_(mean, bn.momentum)
            bn.running_var.lerp_(var * (count / (count - 1)), bn.momentum)
        return y
