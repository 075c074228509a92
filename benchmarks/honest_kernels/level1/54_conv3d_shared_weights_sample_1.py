# A block's output channel has its weights in shared memory, current stream.
# style: shared
# expect: slower
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_src = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>
#include <c10/cuda/CUDAStream.h>

__global__ void conv3d_shared_kernel(const float* __restrict__ x, const float* __restrict__ w, float* __restrict__ y,
                                     int C, int D, int H, int W, int O, int KD, int KH, int KW, int OD, int OH, int OW,
                                     int s, int p, int d) {
    extern __shared__ float ws[];
    const int oc = blockIdx.y, n = blockIdx.z;
    const int taps = C * KD * KH * KW;
    for (int i = threadIdx.x; i < taps; i += blockDim.x) ws[i] = w[(int64_t)oc * taps + i];
    __syncthreads();
    const int pixel = blockIdx.x * blockDim.x + threadIdx.x;
    if (pixel >= OD * OH * OW) return;
    const int ow = pixel % OW, oh = (pixel / OW) % OH, od = pixel / (OW * OH);
    float sum = 0.0f;
    int tap = 0;
    for (int ic = 0; ic < C; ++ic) {
        const float* plane = x + ((int64_t)n * C + ic) * D * H * W;
        for (int kd = 0; kd < KD; ++kd) {
            const int id = od * s - p + kd * d;
            for (int kh = 0; kh < KH; ++kh) {
                const int ih = oh * s - p + kh * d;
                for (int kw = 0; kw < KW; ++kw, ++tap) {
                    const int iw = ow * s - p + kw * d;
                    if (id >= 0 && id < D && ih >= 0 && ih < H && iw >= 0 && iw < W)
                        sum += plane[((int64_t)id * H + ih) * W + iw] * ws[tap];
                }
            }
        }
    }
    y[((int64_t)n * O + oc) * OD * OH * OW + pixel] = sum;
}

torch::Tensor conv3d_shared(torch::Tensor x, torch::Tensor w, int64_t s, int64_t p, int64_t d) {
    x = x.contiguous();
    w = w.contiguous();
    const int N = x.size(0), C = x.size(1), D = x.size(2), H = x.size(3), W = x.size(4);
    const int O = w.size(0), KD = w.size(2), KH = w.size(3), KW = w.size(4);
    const int OD = (D + 2 * p - d * (KD - 1) - 1) / s + 1;
    const int OH = (H + 2 * p - d * (KH - 1) - 1) / s + 1;
    const int OW = (W + 2 * p - d * (KW - 1) - 1) / s + 1;
    auto y = torch::empty({N, O, OD, OH, OW}, x.options());
    const dim3 grid((OD * OH * OW + 127) / 128, O, N);
    const size_t bytes = (size_t)C * KD * KH * KW * sizeof(float);
    TORCH_CHECK(bytes <= 48 * 1024, "a filter does not fit into shared memory");
    conv3d_shared_kernel<<<grid, 128, bytes, at::cuda::getCurrentCUDAStream()>>>(
        x.data_ptr<float>(), w.data_ptr<float>(), y.data_ptr<float>(), C, D, H, W, O, KD, KH, KW, OD, OH, OW, s, p, d);
    return y;
}
"""

ext = load_inline(
    name="conv3d_shared_weights_ext",
    cpp_sources="""
torch::Tensor conv3d_shared(torch::Tensor x, torch::Tensor w, int64_t s, int64_t p, int64_t d);
""",
    cuda_sources=cuda_src,
    functions=["conv3d_shared"],
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
        dilation: int = 1,
        groups: int = 1,
        bias: bool = False,
    ):
        super().__init__()
        self.conv3d = nn.Conv3d(
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
        conv = self.conv3d
        if conv.groups != 1:
            raise NotImplementedError("one group only")
        y = ext.conv3d_shared(x, conv.weight, conv.stride[0], conv.padding[0], conv.dilation[0])
        return y if conv.bias is None else y + conv.bias.view(1, -1, 1, 1, 1)
