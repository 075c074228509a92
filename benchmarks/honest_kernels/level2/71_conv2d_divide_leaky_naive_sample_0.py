# Whole problem in one direct convolution on the current stream.
# style: naive
# expect: slower
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

conv2d_divide_leaky_naive_cpp = """
torch::Tensor conv_divide_leaky(torch::Tensor x, torch::Tensor w, torch::Tensor b, double divisor);
"""

conv2d_divide_leaky_naive_cuda = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>
#include <c10/cuda/CUDAStream.h>

__global__ void conv_divide_leaky_kernel(const float* __restrict__ x, const float* __restrict__ w, const float* __restrict__ b,
                              float* __restrict__ y, int64_t total, int C, int H, int W, int O, int K, int OH, int OW, float divisor) {
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
    v /= divisor;
    v = v >= 0.0f ? v : 0.01f * v;
    y[idx] = v;
}

torch::Tensor conv_divide_leaky(torch::Tensor x, torch::Tensor w, torch::Tensor b, double divisor) {
    x = x.contiguous();
    w = w.contiguous();
    b = b.contiguous();
    const int64_t N = x.size(0), C = x.size(1), H = x.size(2), W = x.size(3), O = w.size(0), K = w.size(2);
    const int64_t OH = H - K + 1, OW = W - K + 1;
    auto y = torch::empty({N, O, OH, OW}, x.options());
    const int64_t total = y.numel();
    conv_divide_leaky_kernel<<<(total + 255) / 256, 256, 0, at::cuda::getCurrentCUDAStream()>>>(
        x.data_ptr<float>(), w.data_ptr<float>(), b.data_ptr<float>(), y.data_ptr<float>(), total,
        C, H, W, O, K, OH, OW, divisor);
    return y;
}
"""

ext = load_inline(
    name="conv2d_divide_leaky_naive_module",
    cpp_sources=[conv2d_divide_leaky_naive_cpp],
    cuda_sources=[conv2d_divide_leaky_naive_cuda],
    functions=["conv_divide_leaky"],
    extra_cflags=["-O2"],
    extra_cuda_cflags=["-O2"],
    verbose=False,
)


class ModelNew(nn.Module):
    def __init__(self, in_channels: int, out_channels: int, kernel_size: int, divisor: int):
        super().__init__()
        self.conv = nn.Conv2d(in_channels, out_channels, kernel_size)
        self.divisor = divisor

    def forward(self, x):
        return ext.conv_divide_leaky(x, self.conv.weight, self.conv.bias, self.divisor)
