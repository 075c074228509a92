# Four naive kernels with temporaries: convolution, softmax over channels, twice max pooling.
# style: naive several_launches
# expect: slower
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>

__global__ void conv3d_kernel(const float* x, const float* w, const float* b, float* y, int64_t total, int C, int D, int H,
                              int W, int O, int K, int OD, int OH, int OW) {
    int64_t idx = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (idx >= total) return;
    int ow = idx % OW, oh = (idx / OW) % OH, od = (idx / (OW * OH)) % OD;
    int oc = (idx / ((int64_t)OW * OH * OD)) % O;
    int64_t n = idx / ((int64_t)OW * OH * OD * O);
    float sum = b[oc];
    for (int c = 0; c < C; c++)
        for (int i = 0; i < K; i++)
            for (int j = 0; j < K; j++)
                for (int k = 0; k < K; k++)
                    sum += x[(((n * C + c) * D + od + i) * H + oh + j) * W + ow + k] *
                           w[((((int64_t)oc * C + c) * K + i) * K + j) * K + k];
    y[idx] = sum;
}

// In place over the channels, one thread a voxel.
__global__ void softmax_channels_kernel(float* y, int64_t voxels, int O, int64_t volume) {
    int64_t idx = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (idx >= voxels) return;
    float* p = y + (idx / volume) * O * volume + idx % volume;
    float top = p[0];
    for (int c = 1; c < O; c++) top = fmaxf(top, p[c * volume]);
    float sum = 0.0f;
    for (int c = 0; c < O; c++) sum += expf(p[c * volume] - top);
    for (int c = 0; c < O; c++) p[c * volume] = expf(p[c * volume] - top) / sum;
}

__global__ void max_pool3d_kernel(const float* x, float* y, int64_t total, int D, int H, int W, int P, int OD, int OH, int OW) {
    int64_t idx = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (idx >= total) return;
    int ow = idx % OW, oh = (idx / OW) % OH, od = (idx / (OW * OH)) % OD;
    const float* plane = x + idx / ((int64_t)OW * OH * OD) * D * H * W;
    float top = -INFINITY;
    for (int i = 0; i < P; i++)
        for (int j = 0; j < P; j++)
            for (int k = 0; k < P; k++)
                top = fmaxf(top, plane[((int64_t)(od * P + i) * H + oh * P + j) * W + ow * P + k]);
    y[idx] = top;
}

static int64_t blocks_for(int64_t n) { return (n + 255) / 256; }

torch::Tensor conv_softmax(torch::Tensor x, torch::Tensor w, torch::Tensor b) {
    x = x.contiguous();
    w = w.contiguous();
    int64_t N = x.size(0), C = x.size(1), D = x.size(2), H = x.size(3), W = x.size(4), O = w.size(0), K = w.size(2);
    int64_t OD = D - K + 1, OH = H - K + 1, OW = W - K + 1;
    auto y = torch::empty({N, O, OD, OH, OW}, x.options());
    int64_t total = y.numel(), volume = OD * OH * OW;
    conv3d_kernel<<<blocks_for(total), 256>>>(x.data_ptr<float>(), w.data_ptr<float>(), b.data_ptr<float>(),
                                              y.data_ptr<float>(), total, C, D, H, W, O, K, OD, OH, OW);
    softmax_channels_kernel<<<blocks_for(N * volume), 256>>>(y.data_ptr<float>(), N * volume, O, volume);
    return y;
}

torch::Tensor max_pool3d(torch::Tensor x, int64_t P) {
    int64_t D = x.size(2), H = x.size(3), W = x.size(4);
    auto y = torch::empty({x.size(0), x.size(1), D / P, H / P, W / P}, x.options());
    max_pool3d_kernel<<<blocks_for(y.numel()), 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), y.numel(), D, H, W, P,
                                                      D / P, H / P, W / P);
    return y;
}
"""

cpp_source = """
torch::Tensor conv_softmax(torch::Tensor x, torch::Tensor w, torch::Tensor b);
torch::Tensor max_pool3d(torch::Tensor x, int64_t P);
"""

ext = load_inline(
    name="conv3d_softmax_pools",
    cpp_sources=cpp_source,
    cuda_sources=source,
    functions=["conv_softmax", "max_pool3d"],
    verbose=False,
)


class ModelNew(nn.Module):
    def __init__(self, in_channels: int, out_channels: int, kernel_size: int, pool_kernel_size: int):
        super().__init__()
        self.conv = nn.Conv3d(in_channels, out_channels, kernel_size)
        self.pool1 = nn.MaxPool3d(pool_kernel_size)
        self.pool2 = nn.MaxPool3d(pool_kernel_size)

    def forward(self, x):
        x = ext.conv_softmax(x, self.conv.weight, self.conv.bias)
        x = ext.max_pool3d(x, self.pool1.kernel_size)
        return ext.max_pool3d(x, self.pool2.kernel_size)
