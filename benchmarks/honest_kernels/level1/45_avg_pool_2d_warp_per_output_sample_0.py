# One warp for each output: its 121 taps are spread over the lanes and added by shuffles.
# style: shuffle
# expect: slower
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

avg_pool_source = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>

__global__ void avg_pool2d_warp(const float* x, float* y, int H, int W, int OH, int OW, int K, int S, int P,
                                int64_t outputs) {
    const int64_t o = (int64_t)blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
    if (o >= outputs) return;
    const int lane = threadIdx.x % 32;
    const int ow = o % OW, oh = (o / OW) % OH;
    const float* plane = x + o / ((int64_t)OW * OH) * H * W;
    float sum = 0.0f;
    for (int t = lane; t < K * K; t += 32) {
        const int h = oh * S - P + t / K, w = ow * S - P + t % K;
        if (h >= 0 && h < H && w >= 0 && w < W) sum += plane[(int64_t)h * W + w];
    }
    for (int offset = 16; offset > 0; offset >>= 1) sum += __shfl_down_sync(0xffffffff, sum, offset);
    if (lane == 0) y[o] = sum / (K * K);
}

torch::Tensor avg_pool2d(torch::Tensor x, int K, int S, int P) {
    const int H = x.size(2), W = x.size(3);
    const int OH = (H + 2 * P - K) / S + 1, OW = (W + 2 * P - K) / S + 1;
    auto y = torch::empty({x.size(0), x.size(1), OH, OW}, x.options());
    const int64_t outputs = y.numel();
    avg_pool2d_warp<<<(outputs + 3) / 4, 128>>>(x.data_ptr<float>(), y.data_ptr<float>(), H, W, OH, OW, K, S, P,
                                                outputs);
    return y;
}
"""

ext = load_inline(
    name="avg_pool2d_warp",
    cpp_sources="torch::Tensor avg_pool2d(torch::Tensor x, int K, int S, int P);",
    cuda_sources=avg_pool_source,
    functions=["avg_pool2d"],
)


class ModelNew(nn.Module):
    def __init__(self, kernel_size: int, stride: int = None, padding: int = 0):
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = stride if stride is not None else kernel_size
        self.padding = padding

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return ext.avg_pool2d(x.contiguous(), self.kernel_size, self.stride, self.padding)
