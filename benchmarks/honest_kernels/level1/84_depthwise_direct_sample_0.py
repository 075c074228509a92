# Depthwise, one thread an output, current stream.
# style: naive
# expect: about
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

depthwise_direct_cpp = """
torch::Tensor depthwise_conv(torch::Tensor x, torch::Tensor w, std::vector<int64_t> s, std::vector<int64_t> p,
                           std::vector<int64_t> d);
"""

depthwise_direct_cuda = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>
#include <c10/cuda/CUDAStream.h>

__global__ void depthwise_kernel(const float* __restrict__ x, const float* __restrict__ w, float* __restrict__ y,
                                 int64_t total, int C, int O, int H, int W, int KH, int KW, int OH, int OW,
                                 int sh, int sw, int ph, int pw, int dh, int dw) {
    int64_t idx = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (idx >= total) return;
    int ow = idx % OW;
    int oh = (idx / OW) % OH;
    int oc = (idx / ((int64_t)OW * OH)) % O;
    int64_t n = idx / ((int64_t)OW * OH * O);
    const float* plane = x + (n * C + oc / (O / C)) * H * W;
    float sum = 0.0f;
    for (int i = 0; i < KH; i++) {
        for (int j = 0; j < KW; j++) {
            int ih = oh * sh - ph + i * dh;
            int iw = ow * sw - pw + j * dw;
            if (ih >= 0 && ih < H && iw >= 0 && iw < W) {
                sum += plane[(int64_t)ih * W + iw] * w[(oc * KH + i) * KW + j];
            }
        }
    }
    y[idx] = sum;
}

torch::Tensor depthwise_conv(torch::Tensor x, torch::Tensor w, std::vector<int64_t> s, std::vector<int64_t> p,
                             std::vector<int64_t> d) {
    x = x.contiguous();
    w = w.contiguous();
    int64_t N = x.size(0), C = x.size(1), H = x.size(2), W = x.size(3);
    int64_t O = w.size(0), KH = w.size(2), KW = w.size(3);
    int64_t OH = (H + 2 * p[0] - d[0] * (KH - 1) - 1) / s[0] + 1;
    int64_t OW = (W + 2 * p[1] - d[1] * (KW - 1) - 1) / s[1] + 1;
    auto y = torch::empty({N, O, OH, OW}, x.options());
    int64_t total = y.numel();
    depthwise_kernel<<<(total + 255) / 256, 256, 0, at::cuda::getCurrentCUDAStream()>>>(
        x.data_ptr<float>(), w.data_ptr<float>(), y.data_ptr<float>(), total, C, O, H, W, KH, KW, OH, OW,
        s[0], s[1], p[0], p[1], d[0], d[1]);
    return y;
}
"""

ext = load_inline(
    name="depthwise_direct_module",
    cpp_sources=[depthwise_direct_cpp],
    cuda_sources=[depthwise_direct_cuda],
    functions=["depthwise_conv"],
    extra_cflags=["-O2"],
    extra_cuda_cflags=["-O2"],
    verbose=False,
)


class ModelNew(nn.Module):
    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: int,
        stride: int = 1,
        padding: int = 0,
        bias: bool = False,
    ):
        super().__init__()
        self.conv2d = nn.Conv2d(
            in_channels,
            out_channels,
            kernel_size,
            stride=stride,
            padding=padding,
            groups=in_channels,
            bias=bias,
        )

    def forward(self, x):
        conv = self.conv2d
        y = ext.depthwise_conv(x, conv.weight, list(conv.stride), list(conv.padding), list(conv.dilation))
        return y if conv.bias is None else y + conv.bias.view(1, -1, 1, 1)
