# A product of 16 x 16 shared tiles for each image, current stream.
# style: tiled shared
# expect: slower
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_src = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>
#include <c10/cuda/CUDAStream.h>

#define TS 16

// y[n] = w (O x C) times x[n] (C x HW)
__global__ void pointwise_tiled_kernel(const float* __restrict__ x, const float* __restrict__ w, float* __restrict__ y,
                                       int C, int O, int HW) {
    __shared__ float ws[TS][TS];
    __shared__ float xs[TS][TS];
    const float* image = x + (int64_t)blockIdx.z * C * HW;
    const int oc = blockIdx.y * TS + threadIdx.y;
    const int pixel = blockIdx.x * TS + threadIdx.x;
    float sum = 0.0f;
    for (int c0 = 0; c0 < C; c0 += TS) {
        const int cw = c0 + threadIdx.x, cx = c0 + threadIdx.y;
        ws[threadIdx.y][threadIdx.x] = (oc < O && cw < C) ? w[(int64_t)oc * C + cw] : 0.0f;
        xs[threadIdx.y][threadIdx.x] = (cx < C && pixel < HW) ? image[(int64_t)cx * HW + pixel] : 0.0f;
        __syncthreads();
        #pragma unroll
        for (int k = 0; k < TS; ++k) sum += ws[threadIdx.y][k] * xs[k][threadIdx.x];
        __syncthreads();
    }
    if (oc < O && pixel < HW) y[((int64_t)blockIdx.z * O + oc) * HW + pixel] = sum;
}

torch::Tensor pointwise_tiled(torch::Tensor x, torch::Tensor w) {
    x = x.contiguous();
    w = w.contiguous();
    const int N = x.size(0), C = x.size(1), H = x.size(2), W = x.size(3), O = w.size(0);
    auto y = torch::empty({N, O, H, W}, x.options());
    const dim3 block(TS, TS), grid((H * W + TS - 1) / TS, (O + TS - 1) / TS, N);
    pointwise_tiled_kernel<<<grid, block, 0, at::cuda::getCurrentCUDAStream()>>>(
        x.data_ptr<float>(), w.data_ptr<float>(), y.data_ptr<float>(), C, O, H * W);
    return y;
}
"""

ext = load_inline(
    name="pointwise_tiled_ext",
    cpp_sources="torch::Tensor pointwise_tiled(torch::Tensor x, torch::Tensor w);",
    cuda_sources=cuda_src,
    functions=["pointwise_tiled"],
    extra_cuda_cflags=["-O3"],
)


class ModelNew(nn.Module):
    def __init__(self, in_channels: int, out_channels: int, bias: bool = False):
        super().__init__()
        self.conv1d = nn.Conv2d(in_channels, out_channels, kernel_size=1, bias=bias)

    def forward(self, x):
        y = ext.pointwise_tiled(x, self.conv1d.weight)
        return y if self.conv1d.bias is None else y + self.conv1d.bias.view(1, -1, 1, 1)
