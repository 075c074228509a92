# All convolutions by one direct kernel, eight output channels a thread, written into the joined output.
# style: vectorised several_launches
# expect: slower
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>
#include <c10/cuda/CUDAStream.h>

#define OCB 8

// Stride 1 and equal padding; y holds all branches, this one begins at channel `first`.
__global__ void conv_kernel(const float* __restrict__ x, const float* __restrict__ w, const float* __restrict__ b,
                            float* __restrict__ y, int C, int H, int W, int O, int K, int P, int all, int first) {
    const int pixel = blockIdx.x * blockDim.x + threadIdx.x;
    if (pixel >= H * W) return;
    const int oc0 = blockIdx.y * OCB;
    const int64_t n = blockIdx.z;
    const int oh = pixel / W, ow = pixel % W;
    float acc[OCB];
    for (int j = 0; j < OCB; ++j) acc[j] = oc0 + j < O ? b[oc0 + j] : 0.0f;
    for (int c = 0; c < C; ++c) {
        const float* plane = x + (n * C + c) * H * W;
        for (int kh = 0; kh < K; ++kh) {
            const int ih = oh - P + kh;
            if (ih < 0 || ih >= H) continue;
            for (int kw = 0; kw < K; ++kw) {
                const int iw = ow - P + kw;
                if (iw < 0 || iw >= W) continue;
                const float v = plane[(int64_t)ih * W + iw];
                for (int j = 0; j < OCB; ++j) {
                    if (oc0 + j < O) acc[j] += v * w[(((int64_t)(oc0 + j) * C + c) * K + kh) * K + kw];
                }
            }
        }
    }
    for (int j = 0; j < OCB; ++j) {
        if (oc0 + j < O) y[(n * all + first + oc0 + j) * H * W + pixel] = acc[j];
    }
}

void conv_into(torch::Tensor x, torch::Tensor w, torch::Tensor b, torch::Tensor y, int64_t padding, int64_t first) {
    TORCH_CHECK(x.is_contiguous() && y.is_contiguous(), "contiguous tensors expected");
    w = w.contiguous();
    const int N = x.size(0), C = x.size(1), H = x.size(2), W = x.size(3), O = w.size(0), K = w.size(2);
    const dim3 grid((H * W + 127) / 128, (O + OCB - 1) / OCB, N);
    conv_kernel<<<grid, 128, 0, at::cuda::getCurrentCUDAStream()>>>(
        x.data_ptr<float>(), w.data_ptr<float>(), b.data_ptr<float>(), y.data_ptr<float>(), C, H, W, O, K, padding,
        y.size(1), first);
}
"""

cpp_source = """
void conv_into(torch::Tensor x, torch::Tensor w, torch::Tensor b, torch::Tensor y, int64_t padding, int64_t first);
"""

ext = load_inline(
    name="inception_direct",
    cpp_sources=cpp_source,
    cuda_sources=source,
    functions=["conv_into"],
    verbose=False,
)


class ModelNew(nn.Module):
    def __init__(
        self,
        in_channels: int,
        out_1x1: int,
        reduce_3x3: int,
        out_3x3: int,
        reduce_5x5: int,
        out_5x5: int,
        pool_proj: int,
    ):
        super().__init__()
        self.branch1x1 = nn.Conv2d(in_channels, out_1x1, kernel_size=1)
        self.branch3x3 = nn.Sequential(
            nn.Conv2d(in_channels, reduce_3x3, kernel_size=1),
            nn.Conv2d(reduce_3x3, out_3x3, kernel_size=3, padding=1),
        )
        self.branch5x5 = nn.Sequential(
            nn.Conv2d(in_channels, reduce_5x5, kernel_size=1),
            nn.Conv2d(reduce_5x5, out_5x5, kernel_size=5, padding=2),
        )
        self.branch_pool = nn.Sequential(
            nn.MaxPool2d(kernel_size=3, stride=1, padding=1),
            nn.Conv2d(in_channels, pool_proj, kernel_size=1),
        )

    def conv(self, x, layer, out=None, first=0):
        if out is None:
            out = torch.empty(x.shape[0], layer.out_channels, x.shape[2], x.shape[3], device=x.device, dtype=x.dtype)
        ext.conv_into(x, layer.weight, layer.bias, out, layer.padding[0], first)
        return out

    def forward(self, x):
        x = x.contiguous()
        lasts = [self.branch1x1, self.branch3x3[1], self.branch5x5[1], self.branch_pool[1]]
        widths = [layer.out_channels for layer in lasts]
        out = torch.empty(x.shape[0], sum(widths), x.shape[2], x.shape[3], device=x.device, dtype=x.dtype)
        inputs = [x, self.conv(x, self.branch3x3[0]), self.conv(x, self.branch5x5[0]), self.branch_pool[0](x).contiguous()]
        first = 0
        for source, layer, width in zip(inputs, lasts, widths):
            self.conv(source, layer, out, first)
            first += width
        return out
