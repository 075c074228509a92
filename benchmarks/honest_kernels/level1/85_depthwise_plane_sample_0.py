# One block a plane that walks over its pixels, filter in shared memory, default stream.
# style: shared
# expect: slower
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>

__global__ void depthwise_plane_kernel(const float* __restrict__ x, const float* __restrict__ w, float* __restrict__ y,
                                       int C, int H, int W, int KH, int KW, int OH, int OW,
                                       int sh, int sw, int ph, int pw, int dh, int dw) {
    extern __shared__ float filter[];
    const int64_t plane = blockIdx.x;
    const int c = plane % C;
    for (int i = threadIdx.x; i < KH * KW; i += blockDim.x) filter[i] = w[(int64_t)c * KH * KW + i];
    __syncthreads();
    const float* src = x + plane * H * W;
    float* dst = y + plane * OH * OW;
    for (int pixel = threadIdx.x; pixel < OH * OW; pixel += blockDim.x) {
        const int oh = pixel / OW, ow = pixel % OW;
        float acc = 0.0f;
        for (int i = 0; i < KH; ++i) {
            const int ih = oh * sh - ph + i * dh;
            if (ih < 0 || ih >= H) continue;
            for (int j = 0; j < KW; ++j) {
                const int iw = ow * sw - pw + j * dw;
                if (iw >= 0 && iw < W) acc += src[(int64_t)ih * W + iw] * filter[i * KW + j];
            }
        }
        dst[pixel] = acc;
    }
}

torch::Tensor depthwise_conv(torch::Tensor x, torch::Tensor w, std::vector<int64_t> s, std::vector<int64_t> p,
                             std::vector<int64_t> d) {
    x = x.contiguous();
    w = w.contiguous();
    const int N = x.size(0), C = x.size(1), H = x.size(2), W = x.size(3), KH = w.size(2), KW = w.size(3);
    const int OH = (H + 2 * p[0] - d[0] * (KH - 1) - 1) / s[0] + 1;
    const int OW = (W + 2 * p[1] - d[1] * (KW - 1) - 1) / s[1] + 1;
    auto y = torch::empty({N, C, OH, OW}, x.options());
    depthwise_plane_kernel<<<N * C, 256, KH * KW * sizeof(float)>>>(
        x.data_ptr<float>(), w.data_ptr<float>(), y.data_ptr<float>(), C, H, W, KH, KW, OH, OW,
        s[0], s[1], p[0], p[1], d[0], d[1]);
    return y;
}
"""

cpp_source = """
torch::Tensor depthwise_conv(torch::Tensor x, torch::Tensor w, std::vector<int64_t> s, std::vector<int64_t> p,
                           std::vector<int64_t> d);
"""

ext = load_inline(
    name="depthwise_plane",
    cpp_sources=cpp_source,
    cuda_sources=source,
    functions=["depthwise_conv"],
    verbose=False,
)


class ModelNew(nn.Module):
    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size_h: int,
        kernel_size_w: int,
        stride_h: int = 1,
        stride_w: int = 1,
        padding_h: int = 0,
        padding_w: int = 0,
        dilation_h: int = 1,
        dilation_w: int = 1,
        groups: int = 1,
        bias: bool = False,
    ):
        super().__init__()
        self.conv2d = nn.Conv2d(
            in_channels,
            in_channels,
            (kernel_size_h, kernel_size_w),
            stride=(stride_h, stride_w),
            padding=(padding_h, padding_w),
            dilation=(dilation_h, dilation_w),
            groups=in_channels,
            bias=bias,
        )

    def forward(self, x):
        conv = self.conv2d
        y = ext.depthwise_conv(x, conv.weight, list(conv.stride), list(conv.padding), list(conv.dilation))
        return y if conv.bias is None else y + conv.bias.view(1, -1, 1, 1)
