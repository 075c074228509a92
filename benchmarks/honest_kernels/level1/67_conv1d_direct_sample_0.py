# Direct 1D convolution, one thread an output, default stream.
# style: naive
# expect: slower
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>

#define OCB 1

__global__ void conv1d_kernel(const float* __restrict__ x, const float* __restrict__ w, float* __restrict__ y,
                              int C, int64_t L, int O, int K, int64_t OL, int s, int p, int d) {
    const int64_t o = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    const int oc0 = blockIdx.y * OCB;
    const int64_t n = blockIdx.z;
    if (o >= OL) return;
    float acc[OCB];
    for (int j = 0; j < OCB; j++) acc[j] = 0.0f;
    for (int c = 0; c < C; c++) {
        const float* row = x + (n * C + c) * L;
        for (int k = 0; k < K; k++) {
            const int64_t i = o * s - p + (int64_t)k * d;
            if (i < 0 || i >= L) continue;
            const float v = row[i];
            for (int j = 0; j < OCB; j++) {
                if (oc0 + j < O) acc[j] += v * w[((int64_t)(oc0 + j) * C + c) * K + k];
            }
        }
    }
    for (int j = 0; j < OCB; j++) {
        if (oc0 + j < O) y[(n * O + oc0 + j) * OL + o] = acc[j];
    }
}

torch::Tensor conv1d_forward(torch::Tensor x, torch::Tensor w, int64_t s, int64_t p, int64_t d) {
    x = x.contiguous();
    w = w.contiguous();
    const int64_t N = x.size(0), C = x.size(1), L = x.size(2), O = w.size(0), K = w.size(2);
    const int64_t OL = (L + 2 * p - d * (K - 1) - 1) / s + 1;
    auto y = torch::empty({N, O, OL}, x.options());
    dim3 grid((OL + 255) / 256, (O + OCB - 1) / OCB, N);
    conv1d_kernel<<<grid, 256>>>(x.data_ptr<float>(), w.data_ptr<float>(), y.data_ptr<float>(),
                                 C, L, O, K, OL, s, p, d);
    return y;
}
"""

cpp_source = """
torch::Tensor conv1d_forward(torch::Tensor x, torch::Tensor w, int64_t s, int64_t p, int64_t d);
"""

ext = load_inline(
    name="conv1d_direct",
    cpp_sources=cpp_source,
    cuda_sources=source,
    functions=["conv1d_forward"],
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
        groups: int = 1,
        bias: bool = False,
    ):
        super().__init__()
        self.conv1d = nn.Conv1d(
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
        conv = self.conv1d
        if conv.groups != 1:
            raise NotImplementedError
        y = ext.conv1d_forward(x, conv.weight, conv.stride[0], conv.padding[0], conv.dilation[0])
        return y if conv.bias is None else y + conv.bias[None, :, None]
