# E[x^2] - E[x]^2 in float32: a block for each plane adds its two sums to its channel's by atomicAdd.
# style: one_pass, atomics, several_launches
# expect: about
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = r"""
#include <torch/extension.h>
#include <c10/cuda/CUDAStream.h>

__global__ void channel_sums(const float* __restrict__ x, float* sums, float* squares, int channels, int pixels) {
    const int c = blockIdx.x % channels;
    const float* plane = x + (int64_t)blockIdx.x * pixels;
    float s = 0.f, q = 0.f;
    for (int i = threadIdx.x; i < pixels; i += blockDim.x) {
        const float v = plane[i];
        s += v;
        q += v * v;
    }
    for (int o = 16; o > 0; o /= 2) {
        s += __shfl_down_sync(0xffffffff, s, o);
        q += __shfl_down_sync(0xffffffff, q, o);
    }
    __shared__ float ws[8], wq[8];
    if (threadIdx.x % 32 == 0) {
        ws[threadIdx.x / 32] = s;
        wq[threadIdx.x / 32] = q;
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        float ts = 0.f, tq = 0.f;
        for (int w = 0; w < 8; ++w) {
            ts += ws[w];
            tq += wq[w];
        }
        atomicAdd(sums + c, ts);
        atomicAdd(squares + c, tq);
    }
}

__global__ void scale_shift(const float* __restrict__ x, float* __restrict__ y, const float* sums,
                            const float* squares, const float* weight, const float* bias, float count, float eps,
                            int channels, int pixels) {
    const int c = blockIdx.x % channels;
    const float mean = sums[c] / count;
    const float var = fmaxf(squares[c] / count - mean * mean, 0.f);
    const float scale = weight[c] * rsqrtf(var + eps);
    const float shift = bias[c] - mean * scale;
    const int64_t start = (int64_t)blockIdx.x * pixels;
    for (int i = threadIdx.x; i < pixels; i += blockDim.x) y[start + i] = x[start + i] * scale + shift;
}

torch::Tensor batch_norm(torch::Tensor x, torch::Tensor weight, torch::Tensor bias, double eps) {
    const int samples = x.size(0), channels = x.size(1), pixels = x.size(2) * x.size(3);
    auto y = torch::empty_like(x);
    auto sums = torch::zeros({2, channels}, x.options());
    float* s = sums.data_ptr<float>();
    auto stream = c10::cuda::getCurrentCUDAStream();
    channel_sums<<<samples * channels, 256, 0, stream>>>(x.data_ptr<float>(), s, s + channels, channels, pixels);
    scale_shift<<<samples * channels, 256, 0, stream>>>(
        x.data_ptr<float>(), y.data_ptr<float>(), s, s + channels, weight.data_ptr<float>(), bias.data_ptr<float>(),
        (float)((double)samples * pixels), eps, channels, pixels);
    return y;
}
"""

ext = load_inline(
    name="batch_norm_one_pass",
    cpp_sources="torch::Tensor batch_norm(torch::Tensor x, torch::Tensor weight, torch::Tensor bias, double eps);",
    cuda_sources=source,
    functions=["batch_norm"],
    extra_cuda_cflags=["-O3"],
)


class ModelNew(nn.Module):
    def __init__(self, num_features: int):
        super().__init__()
        self.bn = nn.BatchNorm2d(num_features)

    def forward(self, x):
        return ext.batch_norm(x.contiguous(), self.bn.weight, self.bn.bias, self.bn.eps)
