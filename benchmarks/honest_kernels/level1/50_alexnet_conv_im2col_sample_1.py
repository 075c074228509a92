# An own im2col kernel, then a library product and the bias.
# style: several_launches library
# expect: slower
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_src = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>

// cols[n][c * KH * KW + kh * KW + kw][oh * OW + ow]
__global__ void im2col_kernel(const float* __restrict__ x, float* __restrict__ cols, int64_t total, int C, int H, int W,
                              int KH, int KW, int OH, int OW, int sh, int sw, int ph, int pw, int dh, int dw) {
    for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < total; i += (int64_t)gridDim.x * blockDim.x) {
        const int pixel = i % (OH * OW);
        const int64_t line = i / (OH * OW);
        const int tap = line % (C * KH * KW);
        const int64_t n = line / (C * KH * KW);
        const int kw = tap % KW, kh = (tap / KW) % KH, c = tap / (KW * KH);
        const int ih = (pixel / OW) * sh - ph + kh * dh;
        const int iw = (pixel % OW) * sw - pw + kw * dw;
        float v = 0.0f;
        if (ih >= 0 && ih < H && iw >= 0 && iw < W) v = x[((n * C + c) * H + ih) * W + iw];
        cols[i] = v;
    }
}

torch::Tensor im2col(torch::Tensor x, int64_t KH, int64_t KW, int64_t sh, int64_t sw, int64_t ph, int64_t pw,
                     int64_t dh, int64_t dw) {
    x = x.contiguous();
    const int64_t N = x.size(0), C = x.size(1), H = x.size(2), W = x.size(3);
    const int64_t OH = (H + 2 * ph - dh * (KH - 1) - 1) / sh + 1;
    const int64_t OW = (W + 2 * pw - dw * (KW - 1) - 1) / sw + 1;
    auto cols = torch::empty({N, C * KH * KW, OH * OW}, x.options());
    const int64_t total = cols.numel();
    const int blocks = (int)std::min<int64_t>((total + 255) / 256, 1 << 20);
    im2col_kernel<<<blocks, 256>>>(x.data_ptr<float>(), cols.data_ptr<float>(), total, C, H, W, KH, KW, OH, OW,
                                   sh, sw, ph, pw, dh, dw);
    return cols;
}
"""

ext = load_inline(
    name="alexnet_conv_im2col_ext",
    cpp_sources="""
torch::Tensor im2col(torch::Tensor x, int64_t KH, int64_t KW, int64_t sh, int64_t sw, int64_t ph, int64_t pw,
                     int64_t dh, int64_t dw);
""",
    cuda_sources=cuda_src,
    functions=["im2col"],
    extra_cuda_cflags=["-O3"],
)


class ModelNew(nn.Module):
    def __init__(self, num_classes: int):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 96, kernel_size=11, stride=4, padding=2)

    def forward(self, x):
        conv = self.conv1
        (kh, kw), (sh, sw), (ph, pw), (dh, dw) = conv.kernel_size, conv.stride, conv.padding, conv.dilation
        cols = ext.im2col(x, kh, kw, sh, sw, ph, pw, dh, dw)
        out = torch.matmul(conv.weight.view(conv.out_channels, -1), cols)
        oh = (x.shape[2] + 2 * ph - dh * (kh - 1) - 1) // sh + 1
        return out.view(x.shape[0], conv.out_channels, oh, -1) + conv.bias.view(1, -1, 1, 1)
