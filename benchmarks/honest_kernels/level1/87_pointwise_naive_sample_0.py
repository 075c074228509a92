# One thread an output and a loop over channels, default stream.
# style: naive
# expect: slower
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>

__global__ void pointwise_kernel(const float* __restrict__ x, const float* __restrict__ w, float* __restrict__ y,
                                 int C, int O, int64_t HW, int64_t total) {
    const int64_t idx = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (idx >= total) return;
    const int64_t pixel = idx % HW;
    const int oc = (idx / HW) % O;
    const int64_t n = idx / (HW * O);
    float sum = 0.0f;
    for (int c = 0; c < C; ++c) sum += x[(n * C + c) * HW + pixel] * w[(int64_t)oc * C + c];
    y[idx] = sum;
}

torch::Tensor pointwise_conv(torch::Tensor x, torch::Tensor w) {
    x = x.contiguous();
    w = w.contiguous();
    const int64_t N = x.size(0), C = x.size(1), H = x.size(2), W = x.size(3), O = w.size(0);
    auto y = torch::empty({N, O, H, W}, x.options());
    const int64_t total = y.numel();
    pointwise_kernel<<<(total + 255) / 256, 256>>>(
        x.data_ptr<float>(), w.data_ptr<float>(), y.data_ptr<float>(), C, O, H * W, total);
    return y;
}
"""

cpp_source = "torch::Tensor pointwise_conv(torch::Tensor x, torch::Tensor w);"

ext = load_inline(
    name="pointwise_naive",
    cpp_sources=cpp_source,
    cuda_sources=source,
    functions=["pointwise_conv"],
    verbose=False,
)


class ModelNew(nn.Module):
    def __init__(self, in_channels: int, out_channels: int, bias: bool = False):
        super().__init__()
        self.conv1d = nn.Conv2d(in_channels, out_channels, kernel_size=1, bias=bias)

    def forward(self, x):
        y = ext.pointwise_conv(x, self.conv1d.weight)
        if self.conv1d.bias is not None:
            y = y + self.conv1d.bias.view(1, -1, 1, 1)
        return y
