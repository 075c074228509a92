# Whole problem in one direct convolution, one thread an output, default stream.
# style: naive
# expect: slower
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>

__global__ void conv_multiply_gelu_kernel(const float* __restrict__ x, const float* __restrict__ w, const float* __restrict__ b,
                              const float* __restrict__ multiplier, float* __restrict__ y, int64_t total, int C, int H, int W, int O, int K, int OH, int OW, float slope) {
    const int64_t idx = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (idx >= total) return;
    const int ow = idx % OW;
    const int oh = (idx / OW) % OH;
    const int oc = (idx / ((int64_t)OW * OH)) % O;
    const int64_t n = idx / ((int64_t)OW * OH * O);
    float v = b[oc];
    for (int c = 0; c < C; ++c) {
        const float* plane = x + ((n * C + c) * H + oh) * W + ow;
        const float* taps = w + ((int64_t)oc * C + c) * K * K;
        for (int i = 0; i < K; ++i)
            for (int j = 0; j < K; ++j) v += plane[(int64_t)i * W + j] * taps[i * K + j];
    }
    v *= multiplier[oc];
    v = v > 0.0f ? v : v * slope;
    v = 0.5f * v * (1.0f + erff(v * 0.70710678118654752f));
    y[idx] = v;
}

torch::Tensor conv_multiply_gelu(torch::Tensor x, torch::Tensor w, torch::Tensor b, torch::Tensor multiplier, double slope) {
    x = x.contiguous();
    w = w.contiguous();
    b = b.contiguous();
    const int64_t N = x.size(0), C = x.size(1), H = x.size(2), W = x.size(3), O = w.size(0), K = w.size(2);
    const int64_t OH = H - K + 1, OW = W - K + 1;
    auto y = torch::empty({N, O, OH, OW}, x.options());
    const int64_t total = y.numel();
    conv_multiply_gelu_kernel<<<(total + 255) / 256, 256>>>(
        x.data_ptr<float>(), w.data_ptr<float>(), b.data_ptr<float>(), multiplier.contiguous().data_ptr<float>(), y.data_ptr<float>(), total,
        C, H, W, O, K, OH, OW, slope);
    return y;
}
"""

cpp_source = """
torch::Tensor conv_multiply_gelu(torch::Tensor x, torch::Tensor w, torch::Tensor b, torch::Tensor multiplier, double slope);
"""

ext = load_inline(
    name="conv2d_multiply_leaky_gelu_naive",
    cpp_sources=cpp_source,
    cuda_sources=source,
    functions=["conv_multiply_gelu"],
    verbose=False,
)


class ModelNew(nn.Module):
    def __init__(self, in_channels: int, out_channels: int, kernel_size: int, multiplier_shape: tuple):
        super().__init__()
        self.conv = nn.Conv2d(in_channels, out_channels, kernel_size)
        self.multiplier = nn.Parameter(torch.randn(multiplier_shape))
        self.leaky_relu = nn.LeakyReLU()

    def forward(self, x):
        conv = self.conv
        return ext.conv_multiply_gelu(x, conv.weight, conv.bias, self.multiplier, self.leaky_relu.negative_slope)
