# Eight output channels a thread, weights from global memory, default stream.
# style: vectorised
# expect: slower
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>

#define OCB 8

// A thread computes 8 output channels of one pixel, so that every input value is loaded once for all of them.
__global__ void conv2d_block_kernel(const float* __restrict__ x, const float* __restrict__ w, float* __restrict__ y,
                                    int C, int H, int W, int O, int KH, int KW, int OH, int OW,
                                    int sh, int sw, int ph, int pw, int dh, int dw) {
    const int pixel = blockIdx.x * blockDim.x + threadIdx.x;
    const int oc0 = blockIdx.y * OCB;
    const int64_t n = blockIdx.z;
    if (pixel >= OH * OW) return;
    const int oh = pixel / OW, ow = pixel % OW;
    float acc[OCB];
    #pragma unroll
    for (int j = 0; j < OCB; ++j) acc[j] = 0.0f;
    for (int c = 0; c < C; ++c) {
        const float* plane = x + (n * C + c) * H * W;
        for (int kh = 0; kh < KH; ++kh) {
            const int ih = oh * sh - ph + kh * dh;
            if (ih < 0 || ih >= H) continue;
            for (int kw = 0; kw < KW; ++kw) {
                const int iw = ow * sw - pw + kw * dw;
                if (iw < 0 || iw >= W) continue;
                const float v = plane[(int64_t)ih * W + iw];
                const int tap = (c * KH + kh) * KW + kw;
                #pragma unroll
                for (int j = 0; j < OCB; ++j) if (oc0 + j < O) acc[j] += v * w[(int64_t)(oc0 + j) * C * KH * KW + tap];
            }
        }
    }
    for (int j = 0; j < OCB; ++j) {
        if (oc0 + j < O) y[(n * O + oc0 + j) * OH * OW + pixel] = acc[j];
    }
}

torch::Tensor conv2d_block(torch::Tensor x, torch::Tensor w, std::vector<int64_t> s, std::vector<int64_t> p,
                           std::vector<int64_t> d) {
    x = x.contiguous();
    w = w.contiguous();
    const int N = x.size(0), C = x.size(1), H = x.size(2), W = x.size(3);
    const int O = w.size(0), KH = w.size(2), KW = w.size(3);
    const int OH = (H + 2 * p[0] - d[0] * (KH - 1) - 1) / s[0] + 1;
    const int OW = (W + 2 * p[1] - d[1] * (KW - 1) - 1) / s[1] + 1;
    auto y = torch::empty({N, O, OH, OW}, x.options());
    const dim3 grid((OH * OW + 255) / 256, (O + OCB - 1) / OCB, N);
    conv2d_block_kernel<<<grid, 256>>>(
        x.data_ptr<float>(), w.data_ptr<float>(), y.data_ptr<float>(), C, H, W, O, KH, KW, OH, OW,
        s[0], s[1], p[0], p[1], d[0], d[1]);
    return y;
}
"""

cpp_source = """
torch::Tensor conv2d_block(torch::Tensor x, torch::Tensor w, std::vector<int64_t> s, std::vector<int64_t> p,
                           std::vector<int64_t> d);
"""

ext = load_inline(
    name="conv2d_oc8",
    cpp_sources=cpp_source,
    cuda_sources=source,
    functions=["conv2d_block"],
    verbose=False,
)


class ModelNew(nn.Module):
    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: tuple,
        stride: int = 1,
        padding: int = 0,
        dilation: int = 1,
        groups: int = 1,
        bias: bool = False,
    ):
        super().__init__()
        self.conv2d = nn.Conv2d(
            in_channels,
            out_channels,
            kernel_size,
            stride=stride,
            padding=padding,
            dilation=dilation,
            groups=groups,
            bias=bias,
        )

    def forward(self, x):
        conv = self.conv2d
        assert getattr(conv, "groups", 1) == 1, "one group only"
        y = ext.conv2d_block(x, conv.weight, list(conv.stride), list(conv.padding), list(conv.dilation))
        if conv.bias is not None:
            y = y + conv.bias.view(1, -1, 1, 1)
        return y
