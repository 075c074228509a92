# Gather, eight output channels a thread, default stream.
# style: vectorised
# expect: slower
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_src = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>

// Gather: the inputs of output o are those with i * s = o + p - k * d.
__global__ void conv_transpose1d_kernel(const float* __restrict__ x, const float* __restrict__ w, float* __restrict__ y,
                                        int C, int L, int O, int K, int OL, int s, int p, int d) {
    const int o = blockIdx.x * blockDim.x + threadIdx.x;
    const int oc = blockIdx.y * 8;
    const int64_t n = blockIdx.z;
    if (o >= OL) return;
    float acc[8] = {0.0f};
    for (int k = 0; k < K; ++k) {
        const int t = o + p - k * d;
        if (t < 0 || t % s != 0) continue;
        const int i = t / s;
        if (i >= L) continue;
        for (int c = 0; c < C; ++c) {
            const float v = x[(n * C + c) * L + i];
            for (int j = 0; j < 8; ++j) {
                if (oc + j < O) acc[j] += v * w[((int64_t)c * O + oc + j) * K + k];
            }
        }
    }
    for (int j = 0; j < 8; ++j) {
        if (oc + j < O) y[(n * O + oc + j) * OL + o] = acc[j];
    }
}

torch::Tensor conv_transpose1d(torch::Tensor x, torch::Tensor w, int64_t s, int64_t p, int64_t op, int64_t d) {
    x = x.contiguous();
    w = w.contiguous();
    const int N = x.size(0), C = x.size(1), L = x.size(2), O = w.size(1), K = w.size(2);
    const int OL = (L - 1) * s - 2 * p + d * (K - 1) + op + 1;
    auto y = torch::empty({N, O, OL}, x.options());
    const dim3 grid((OL + 255) / 256, (O + 7) / 8, N);
    conv_transpose1d_kernel<<<grid, 256>>>(x.data_ptr<float>(), w.data_ptr<float>(), y.data_ptr<float>(),
                                           C, L, O, K, OL, s, p, d);
    return y;
}
"""

ext = load_inline(
    name="conv_transpose1d_oc8_ext",
    cpp_sources="""
torch::Tensor conv_transpose1d(torch::Tensor x, torch::Tensor w, int64_t s, int64_t p, int64_t op, int64_t d);
""",
    cuda_sources=cuda_src,
    functions=["conv_transpose1d"],
    extra_cuda_cflags=["-O3"],
)


class ModelNew(nn.Module):
    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: int,
        stride: int = 1,
        padding: int = 0,
        output_padding: int = 0,
        groups: int = 1,
        bias: bool = False,
    ):
        super().__init__()
        self.conv1d_transpose = nn.ConvTranspose1d(
            in_channels,
            out_channels,
            kernel_size,
            stride=stride,
            padding=padding,
            output_padding=output_padding,
            groups=groups,
            bias=bias,
        )

    def forward(self, x):
        conv = self.conv1d_transpose
        assert conv.groups == 1
        y = ext.conv_transpose1d(
            x, conv.weight, conv.stride[0], conv.padding[0], conv.output_padding[0], conv.dilation[0]
        )
        if conv.bias is not None:
            y = y + conv.bias.view(1, -1, 1)
        return y
