# Depthwise with the input tile and its border in shared memory, current stream.
# style: shared tiled
# expect: slower
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_src = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>
#include <c10/cuda/CUDAStream.h>

#define TILE 16

__global__ void depthwise_tile_kernel(const float* __restrict__ x, const float* __restrict__ w, float* __restrict__ y,
                                      int C, int H, int W, int K, int OH, int OW, int s, int p) {
    extern __shared__ float tile[];
    const int side = (TILE - 1) * s + K;
    const int plane = blockIdx.z, c = plane % C;
    const int oh0 = blockIdx.y * TILE, ow0 = blockIdx.x * TILE;
    const float* src = x + (int64_t)plane * H * W;
    const int tid = threadIdx.y * TILE + threadIdx.x;
    for (int i = tid; i < side * side; i += TILE * TILE) {
        const int ih = oh0 * s - p + i / side, iw = ow0 * s - p + i % side;
        tile[i] = (ih >= 0 && ih < H && iw >= 0 && iw < W) ? src[(int64_t)ih * W + iw] : 0.0f;
    }
    __syncthreads();
    const int oh = oh0 + threadIdx.y, ow = ow0 + threadIdx.x;
    if (oh < OH && ow < OW) {
        float sum = 0.0f;
        for (int i = 0; i < K; ++i)
            for (int j = 0; j < K; ++j)
                sum += tile[(threadIdx.y * s + i) * side + threadIdx.x * s + j] * w[(c * K + i) * K + j];
        y[((int64_t)plane * OH + oh) * OW + ow] = sum;
    }
}

torch::Tensor depthwise_tile(torch::Tensor x, torch::Tensor w, int64_t s, int64_t p) {
    x = x.contiguous();
    w = w.contiguous();
    const int N = x.size(0), C = x.size(1), H = x.size(2), W = x.size(3), K = w.size(2);
    const int OH = (H + 2 * p - K) / s + 1, OW = (W + 2 * p - K) / s + 1;
    auto y = torch::empty({N, C, OH, OW}, x.options());
    const dim3 block(TILE, TILE), grid((OW + TILE - 1) / TILE, (OH + TILE - 1) / TILE, N * C);
    const int side = (TILE - 1) * s + K;
    const size_t bytes = (size_t)side * side * sizeof(float);
    TORCH_CHECK(bytes <= 48 * 1024 && grid.z <= 65535, "tile or batch too large");
    depthwise_tile_kernel<<<grid, block, bytes, at::cuda::getCurrentCUDAStream()>>>(
        x.data_ptr<float>(), w.data_ptr<float>(), y.data_ptr<float>(), C, H, W, K, OH, OW, s, p);
    return y;
}
"""

ext = load_inline(
    name="depthwise_shared_ext",
    cpp_sources="""
torch::Tensor depthwise_tile(torch::Tensor x, torch::Tensor w, int64_t s, int64_t p);
""",
    cuda_sources=cuda_src,
    functions=["depthwise_tile"],
    extra_cuda_cflags=["-O3"],
)


class ModelNew(nn.Module):
    def __init__(
        self, in_channels: int, kernel_size: int, stride: int = 1, padding: int = 0, bias: bool = False
    ):
        super().__init__()
        self.conv2d = nn.Conv2d(
            in_channels,
            in_channels,
            kernel_size,
            stride=stride,
            padding=padding,
            groups=in_channels,
            bias=bias,
        )

    def forward(self, x):
        conv = self.conv2d
        y = ext.depthwise_tile(x, conv.weight, conv.stride[0], conv.padding[0])
        return y if conv.bias is None else y + conv.bias.view(1, -1, 1, 1)
