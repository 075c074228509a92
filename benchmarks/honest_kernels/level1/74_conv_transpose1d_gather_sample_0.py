# Gather with dilation, one thread an output, current stream.
# style: naive
# expect: slower
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>
#include <c10/cuda/CUDAStream.h>

// Gather: the inputs of output o are those with i * s = o + p - k * d.
__global__ void conv_transpose1d_kernel(const float* __restrict__ x, const float* __restrict__ w, float* __restrict__ y,
                                        int C, int L, int O, int K, int OL, int s, int p, int d) {
    const int o = blockIdx.x * blockDim.x + threadIdx.x;
    const int oc = blockIdx.y;
    const int64_t n = blockIdx.z;
    if (o >= OL) return;
    float sum = 0.0f;
    for (int k = 0; k < K; ++k) {
        const int t = o + p - k * d;
        if (t < 0 || t % s != 0) continue;
        const int i = t / s;
        if (i >= L) continue;
        for (int c = 0; c < C; ++c) {
            const float v = x[(n * C + c) * L + i];
            sum += v * w[((int64_t)c * O + oc) * K + k];
        }
    }
    y[(n * O + oc) * OL + o] = sum;
}

torch::Tensor conv_transpose1d(torch::Tensor x, torch::Tensor w, int64_t s, int64_t p, int64_t op, int64_t d) {
    x = x.contiguous();
    w = w.contiguous();
    const int N = x.size(0), C = x.size(1), L = x.size(2), O = w.size(1), K = w.size(2);
    const int OL = (L - 1) * s - 2 * p + d * (K - 1) + op + 1;
    auto y = torch::empty({N, O, OL}, x.options());
    const dim3 grid((OL + 255) / 256, O, N);
    conv_transpose1d_kernel<<<grid, 256, 0, at::cuda::getCurrentCUDAStream()>>>(x.data_ptr<float>(), w.data_ptr<float>(), y.data_ptr<float>(),
                                           C, L, O, K, OL, s, p, d);
    return y;
}
"""

cpp_source = """
torch::Tensor conv_transpose1d(torch::Tensor x, torch::Tensor w, int64_t s, int64_t p, int64_t op, int64_t d);
"""

ext = load_inline(
    name="conv_transpose1d_gather",
    cpp_sources=cpp_source,
    cuda_sources=source,
    functions=["conv_transpose1d"],
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
        self.conv1d_transpose = nn.ConvTranspose1d(
            in_channels,
            out_channels,
            kernel_size,
            stride=stride,
            padding=padding,
            dilation=dilation,
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
