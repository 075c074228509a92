# Gather with four output channels a thread, current stream.
# style: vectorised
# expect: slower
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>
#include <c10/cuda/CUDAStream.h>

#define OCB 4

// One thread gathers four output channels of a voxel: each input is read once for the four.
__global__ void conv_transpose3d_oc4_kernel(const float* __restrict__ x, const float* __restrict__ w, float* __restrict__ y,
                                            int C, int D, int H, int W, int O, int KD, int KH, int KW,
                                            int OD, int OH, int OW, int s, int p) {
    const int voxel = blockIdx.x * blockDim.x + threadIdx.x;
    if (voxel >= OD * OH * OW) return;
    const int oc0 = blockIdx.y * OCB;
    const int64_t n = blockIdx.z;
    const int ow = voxel % OW, oh = (voxel / OW) % OH, od = voxel / (OW * OH);
    const int taps = KD * KH * KW;
    float acc[OCB];
    for (int j = 0; j < OCB; ++j) acc[j] = 0.0f;
    for (int kd = 0; kd < KD; ++kd) {
        const int td = od + p - kd;
        if (td < 0 || td % s || td / s >= D) continue;
        for (int kh = 0; kh < KH; ++kh) {
            const int th = oh + p - kh;
            if (th < 0 || th % s || th / s >= H) continue;
            for (int kw = 0; kw < KW; ++kw) {
                const int tw = ow + p - kw;
                if (tw < 0 || tw % s || tw / s >= W) continue;
                const int tap = (kd * KH + kh) * KW + kw;
                const int64_t at = ((int64_t)(td / s) * H + th / s) * W + tw / s;
                for (int ic = 0; ic < C; ++ic) {
                    const float v = x[(n * C + ic) * D * H * W + at];
                    for (int j = 0; j < OCB; ++j) {
                        if (oc0 + j < O) acc[j] += v * w[((int64_t)ic * O + oc0 + j) * taps + tap];
                    }
                }
            }
        }
    }
    for (int j = 0; j < OCB; ++j) {
        if (oc0 + j < O) y[(n * O + oc0 + j) * OD * OH * OW + voxel] = acc[j];
    }
}

torch::Tensor conv_transpose3d_oc4(torch::Tensor x, torch::Tensor w, int64_t s, int64_t p, int64_t op) {
    x = x.contiguous();
    w = w.contiguous();
    const int N = x.size(0), C = x.size(1), D = x.size(2), H = x.size(3), W = x.size(4);
    const int O = w.size(1), KD = w.size(2), KH = w.size(3), KW = w.size(4);
    const int OD = (D - 1) * s - 2 * p + KD + op, OH = (H - 1) * s - 2 * p + KH + op, OW = (W - 1) * s - 2 * p + KW + op;
    auto y = torch::empty({N, O, OD, OH, OW}, x.options());
    const dim3 grid((OD * OH * OW + 127) / 128, (O + OCB - 1) / OCB, N);
    conv_transpose3d_oc4_kernel<<<grid, 128, 0, at::cuda::getCurrentCUDAStream()>>>(
        x.data_ptr<float>(), w.data_ptr<float>(), y.data_ptr<float>(), C, D, H, W, O, KD, KH, KW, OD, OH, OW, s, p);
    return y;
}
"""

cpp_source = """
torch::Tensor conv_transpose3d_oc4(torch::Tensor x, torch::Tensor w, int64_t s, int64_t p, int64_t op);
"""

ext = load_inline(
    name="conv_transpose3d_oc4",
    cpp_sources=cpp_source,
    cuda_sources=source,
    functions=["conv_transpose3d_oc4"],
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
        output_padding: int = 0,
        groups: int = 1,
        bias: bool = False,
    ):
        super().__init__()
        self.conv_transpose3d = nn.ConvTranspose3d(
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
        conv = self.conv_transpose3d
        if conv.groups != 1 or conv.dilation[0] != 1:
            raise NotImplementedError("groups and dilation are not supported")
        y = ext.conv_transpose3d_oc4(x, conv.weight, conv.stride[0], conv.padding[0], conv.output_padding[0])
        return y if conv.bias is None else y + conv.bias.view(1, -1, 1, 1, 1)
