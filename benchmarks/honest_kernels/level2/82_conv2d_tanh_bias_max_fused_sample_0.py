# Convolution, tanh, scale, bias and pooling in one kernel, one thread a pooled output.
# style: naive
# expect: slower
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>

// Each thread computes all convolution outputs of its pooling window.
__global__ void conv_tanh_pool_kernel(const float* __restrict__ x, const float* __restrict__ w, const float* __restrict__ b,
                                      const float* __restrict__ bias, float* __restrict__ y, int64_t total, int C, int H,
                                      int W, int O, int K, int P, int PH, int PW, float scale) {
    int64_t idx = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (idx >= total) return;
    const int pw = idx % PW, ph = (idx / PW) % PH;
    const int oc = (idx / ((int64_t)PW * PH)) % O;
    const int64_t n = idx / ((int64_t)PW * PH * O);
    float top = -INFINITY;
    for (int a = 0; a < P; ++a) {
        for (int e = 0; e < P; ++e) {
            const int oh = ph * P + a, ow = pw * P + e;
            float v = b[oc];
            for (int c = 0; c < C; ++c) {
                const float* plane = x + ((n * C + c) * H + oh) * W + ow;
                const float* taps = w + ((int64_t)oc * C + c) * K * K;
                for (int i = 0; i < K; ++i)
                    for (int j = 0; j < K; ++j) v += plane[(int64_t)i * W + j] * taps[i * K + j];
            }
            v = tanhf(v) * scale + bias[oc];
            top = fmaxf(top, v);
        }
    }
    y[idx] = top;
}

torch::Tensor conv_tanh_pool(torch::Tensor x, torch::Tensor w, torch::Tensor b, torch::Tensor bias, double scale, int64_t P) {
    x = x.contiguous();
    w = w.contiguous();
    bias = bias.contiguous();
    const int64_t N = x.size(0), C = x.size(1), H = x.size(2), W = x.size(3), O = w.size(0), K = w.size(2);
    const int64_t PH = (H - K + 1) / P, PW = (W - K + 1) / P;
    auto y = torch::empty({N, O, PH, PW}, x.options());
    const int64_t total = y.numel();
    conv_tanh_pool_kernel<<<(total + 127) / 128, 128>>>(
        x.data_ptr<float>(), w.data_ptr<float>(), b.data_ptr<float>(), bias.data_ptr<float>(), y.data_ptr<float>(), total,
        C, H, W, O, K, P, PH, PW, scale);
    return y;
}
"""

cpp_source = """
torch::Tensor conv_tanh_pool(torch::Tensor x, torch::Tensor w, torch::Tensor b, torch::Tensor bias, double scale, int64_t P);
"""

ext = load_inline(
    name="conv2d_tanh_bias_max_fused",
    cpp_sources=cpp_source,
    cuda_sources=source,
    functions=["conv_tanh_pool"],
    verbose=False,
)


class ModelNew(nn.Module):
    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: int,
        scaling_factor: float,
        bias_shape: tuple,
        pool_kernel_size: int,
    ):
        super().__init__()
        self.conv = nn.Conv2d(in_channels, out_channels, kernel_size)
        self.scaling_factor = scaling_factor
        self.bias = nn.Parameter(torch.randn(bias_shape))
        self.max_pool = nn.MaxPool2d(pool_kernel_size)

    def forward(self, x):
        return ext.conv_tanh_pool(
            x, self.conv.weight, self.conv.bias, self.bias, self.scaling_factor, self.max_pool.kernel_size
        )
