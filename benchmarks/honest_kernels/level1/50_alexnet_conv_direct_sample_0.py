# Direct convolution with a bias, one thread an output, default stream.
# style: naive
# expect: slower
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>

// One thread computes one output value.
__global__ void conv2d_kernel(const float* __restrict__ x, const float* __restrict__ w, const float* __restrict__ bias,
                              float* __restrict__ y, int N, int C, int H, int W, int O, int KH, int KW, int OH, int OW,
                              int sh, int sw, int ph, int pw, int dh, int dw, int groups) {
    const int64_t idx = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (idx >= (int64_t)N * O * OH * OW) return;
    const int ow = idx % OW;
    const int oh = (idx / OW) % OH;
    const int oc = (idx / ((int64_t)OW * OH)) % O;
    const int n = idx / ((int64_t)OW * OH * O);
    const int cg = C / groups;
    const int g = oc / (O / groups);
    float sum = bias != nullptr ? bias[oc] : 0.0f;
    for (int ic = 0; ic < cg; ++ic) {
        const float* xc = x + ((int64_t)n * C + g * cg + ic) * H * W;
        const float* wc = w + ((int64_t)oc * cg + ic) * KH * KW;
        for (int kh = 0; kh < KH; ++kh) {
            const int ih = oh * sh - ph + kh * dh;
            if (ih < 0 || ih >= H) continue;
            for (int kw = 0; kw < KW; ++kw) {
                const int iw = ow * sw - pw + kw * dw;
                if (iw < 0 || iw >= W) continue;
                sum += xc[(int64_t)ih * W + iw] * wc[kh * KW + kw];
            }
        }
    }
    y[idx] = sum;
}

torch::Tensor conv2d_forward(torch::Tensor x, torch::Tensor w, std::optional<torch::Tensor> bias,
                             std::vector<int64_t> stride, std::vector<int64_t> padding, std::vector<int64_t> dilation,
                             int64_t groups) {
    x = x.contiguous();
    w = w.contiguous();
    const int N = x.size(0), C = x.size(1), H = x.size(2), W = x.size(3);
    const int O = w.size(0), KH = w.size(2), KW = w.size(3);
    const int OH = (H + 2 * padding[0] - dilation[0] * (KH - 1) - 1) / stride[0] + 1;
    const int OW = (W + 2 * padding[1] - dilation[1] * (KW - 1) - 1) / stride[1] + 1;
    auto y = torch::empty({N, O, OH, OW}, x.options());
    const int64_t total = y.numel();
    const int threads = 256;
    const int64_t blocks = (total + threads - 1) / threads;
    torch::Tensor b = bias.has_value() ? bias->contiguous() : torch::Tensor();
    conv2d_kernel<<<blocks, threads>>>(
        x.data_ptr<float>(), w.data_ptr<float>(), b.defined() ? b.data_ptr<float>() : nullptr, y.data_ptr<float>(),
        N, C, H, W, O, KH, KW, OH, OW, stride[0], stride[1], padding[0], padding[1], dilation[0], dilation[1], groups);
    return y;
}
"""

cpp_source = """
torch::Tensor conv2d_forward(torch::Tensor x, torch::Tensor w, std::optional<torch::Tensor> bias,
                             std::vector<int64_t> stride, std::vector<int64_t> padding, std::vector<int64_t> dilation,
                             int64_t groups);
"""

ext = load_inline(
    name="alexnet_conv_direct",
    cpp_sources=cpp_source,
    cuda_sources=source,
    functions=["conv2d_forward"],
    verbose=False,
)


class ModelNew(nn.Module):
    def __init__(self, num_classes: int):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 96, kernel_size=11, stride=4, padding=2)

    def forward(self, x):
        conv = self.conv1
        return ext.conv2d_forward(
            x, conv.weight, conv.bias, list(conv.stride), list(conv.padding), list(conv.dilation), conv.groups
        )
