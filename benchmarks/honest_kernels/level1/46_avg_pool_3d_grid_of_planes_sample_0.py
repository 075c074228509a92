# Blocks of 16 by 16 over height and width, blockIdx.z over depth and a loop over the channels of the batch.
# style: tiled, naive
# expect: about
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_source = """
#include <torch/extension.h>
#include <cuda_runtime.h>

__global__ void avg_pool3d_kernel(const float* x, float* y, int64_t channels, int D, int H, int W, int OD, int OH,
                                  int OW, int K, int S, int P) {
    const int ow = blockIdx.x * blockDim.x + threadIdx.x;
    const int oh = blockIdx.y * blockDim.y + threadIdx.y;
    const int od = blockIdx.z;
    if (ow >= OW || oh >= OH) return;
    const float volume = K * K * K;
    for (int64_t nc = 0; nc < channels; ++nc) {
        const float* in = x + nc * D * H * W;
        float sum = 0.0f;
        for (int a = 0; a < K; ++a)
            for (int b = 0; b < K; ++b)
                for (int c = 0; c < K; ++c) {
                    const int d = od * S - P + a, h = oh * S - P + b, w = ow * S - P + c;
                    if (d >= 0 && d < D && h >= 0 && h < H && w >= 0 && w < W) {
                        sum += in[((int64_t)d * H + h) * W + w];
                    }
                }
        y[((nc * OD + od) * OH + oh) * OW + ow] = sum / volume;
    }
}

torch::Tensor avg_pool3d_cuda(torch::Tensor x, int K, int S, int P) {
    const int D = x.size(2), H = x.size(3), W = x.size(4);
    const int OD = (D + 2 * P - K) / S + 1, OH = (H + 2 * P - K) / S + 1, OW = (W + 2 * P - K) / S + 1;
    auto y = torch::empty({x.size(0), x.size(1), OD, OH, OW}, x.options());
    dim3 block(16, 16);
    dim3 grid((OW + 15) / 16, (OH + 15) / 16, OD);
    avg_pool3d_kernel<<<grid, block>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.size(0) * x.size(1), D, H, W, OD,
                                       OH, OW, K, S, P);
    return y;
}
"""

ext = load_inline(
    name="avg_pool3d_planes",
    cpp_sources="torch::Tensor avg_pool3d_cuda(torch::Tensor x, int K, int S, int P);",
    cuda_sources=cuda_source,
    functions=["avg_pool3d_cuda"],
)


class ModelNew(nn.Module):
    def __init__(self, kernel_size: int, stride: int = None, padding: int = 0):
        super().__init__()
        self.avg_pool = nn.AvgPool3d(kernel_size, stride=stride, padding=padding)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        p = self.avg_pool
        return ext.avg_pool3d_cuda(x.contiguous(), p.kernel_size, p.stride, p.padding)
