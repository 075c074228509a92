# Gather with stride, padding and dilation, one thread an output, then torch.cuda.synchronize().
# style: naive
# expect: slower
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>

// Transposed convolution as a gather: each output looks for the inputs that reach it.
__global__ void conv_transpose3d_kernel(const float* __restrict__ x, const float* __restrict__ w,
                                        const float* __restrict__ bias, float* __restrict__ y, int64_t total,
                                        int C, int D, int H, int W, int O, int KD, int KH, int KW, int OD, int OH, int OW,
                                        int sd, int sh, int sw, int pd, int ph, int pw, int dd, int dh, int dw, int groups) {
    const int64_t idx = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (idx >= total) return;
    int64_t rest = idx;
    const int ow = rest % OW; rest /= OW;
    const int oh = rest % OH; rest /= OH;
    const int od = rest % OD; rest /= OD;
    const int oc = rest % O;
    const int64_t n = rest / O;
    const int og = O / groups, cg = C / groups;
    const int first = (oc / og) * cg;
    float sum = bias != nullptr ? bias[oc] : 0.0f;
    for (int kd = 0; kd < KD; ++kd) {
        const int td = od + pd - kd * dd;
        if (td < 0 || td % sd != 0 || td / sd >= D) continue;
        for (int kh = 0; kh < KH; ++kh) {
            const int th = oh + ph - kh * dh;
            if (th < 0 || th % sh != 0 || th / sh >= H) continue;
            for (int kw = 0; kw < KW; ++kw) {
                const int tw = ow + pw - kw * dw;
                if (tw < 0 || tw % sw != 0 || tw / sw >= W) continue;
                const float* xp = x + (((n * C + first) * D + td / sd) * H + th / sh) * W + tw / sw;
                const float* wp = w + ((((int64_t)first * og + oc % og) * KD + kd) * KH + kh) * KW + kw;
                for (int ic = 0; ic < cg; ++ic) {
                    sum += xp[(int64_t)ic * D * H * W] * wp[(int64_t)ic * og * KD * KH * KW];
                }
            }
        }
    }
    y[idx] = sum;
}

torch::Tensor conv_transpose3d_forward(torch::Tensor x, torch::Tensor w, std::optional<torch::Tensor> bias,
                                       std::vector<int64_t> s, std::vector<int64_t> p, std::vector<int64_t> op,
                                       std::vector<int64_t> d, int64_t groups) {
    x = x.contiguous();
    w = w.contiguous();
    const int64_t N = x.size(0), C = x.size(1), D = x.size(2), H = x.size(3), W = x.size(4);
    const int64_t O = w.size(1) * groups, KD = w.size(2), KH = w.size(3), KW = w.size(4);
    const int64_t OD = (D - 1) * s[0] - 2 * p[0] + d[0] * (KD - 1) + op[0] + 1;
    const int64_t OH = (H - 1) * s[1] - 2 * p[1] + d[1] * (KH - 1) + op[1] + 1;
    const int64_t OW = (W - 1) * s[2] - 2 * p[2] + d[2] * (KW - 1) + op[2] + 1;
    auto y = torch::empty({N, O, OD, OH, OW}, x.options());
    const int64_t total = y.numel();
    torch::Tensor held = bias.has_value() ? bias->contiguous() : torch::Tensor();
    const int threads = 256;
    const int64_t blocks = (total + threads - 1) / threads;
    conv_transpose3d_kernel<<<blocks, threads>>>(
        x.data_ptr<float>(), w.data_ptr<float>(), held.defined() ? held.data_ptr<float>() : nullptr,
        y.data_ptr<float>(), total, C, D, H, W, O, KD, KH, KW, OD, OH, OW,
        s[0], s[1], s[2], p[0], p[1], p[2], d[0], d[1], d[2], groups);
    return y;
}
"""

cpp_source = """
torch::Tensor conv_transpose3d_forward(torch::Tensor x, torch::Tensor w, std::optional<torch::Tensor> bias,
                                       std::vector<int64_t> s, std::vector<int64_t> p, std::vector<int64_t> op,
                                       std::vector<int64_t> d, int64_t groups);
"""

ext = load_inline(
    name="conv_transpose3d_dilated",
    cpp_sources=cpp_source,
    cuda_sources=source,
    functions=["conv_transpose3d_forward"],
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
        dilation: int = 1,
        bias: bool = False,
    ):
        super().__init__()
        self.conv_transpose3d = nn.ConvTranspose3d(
            in_channels,
            out_channels,
            kernel_size,
            stride=stride,
            padding=padding,
            dilation=dilation,
            bias=bias,
        )

    def forward(self, x):
        conv = self.conv_transpose3d
        y = ext.conv_transpose3d_forward(
            x,
            conv.weight,
            conv.bias,
            list(conv.stride),
            list(conv.padding),
            list(conv.output_padding),
            list(conv.dilation),
            conv.groups,
        )
        torch.cuda.synchronize()
        return y
