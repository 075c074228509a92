# Each thread slides over 32 neighbouring outputs: it adds the element that enters and takes off the one that leaves.
# style: one_pass
# expect: slower
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = r"""
#include <torch/extension.h>

constexpr int STRIP = 32;

__global__ void avg_pool1d_sliding(const float* __restrict__ x, float* __restrict__ y, int L, int OL, int K, int P) {
    const int64_t plane = blockIdx.y;
    const float* in = x + plane * L;
    float* out = y + plane * OL;
    const int first = (blockIdx.x * blockDim.x + threadIdx.x) * STRIP;
    if (first >= OL) return;
    float window = 0.f;
    for (int k = 0; k < K; ++k) {
        const int pos = first - P + k;
        if (pos >= 0 && pos < L) window += in[pos];
    }
    out[first] = window / K;
    const int last = min(first + STRIP, OL);
    for (int o = first + 1; o < last; ++o) {
        const int leaving = o - 1 - P, entering = o - P + K - 1;
        if (entering >= 0 && entering < L) window += in[entering];
        if (leaving >= 0 && leaving < L) window -= in[leaving];
        out[o] = window / K;
    }
}

__global__ void avg_pool1d_plain(const float* x, float* y, int L, int OL, int K, int S, int P) {
    const int64_t plane = blockIdx.y;
    const int o = blockIdx.x * blockDim.x + threadIdx.x;
    if (o >= OL) return;
    float sum = 0.f;
    for (int k = 0; k < K; ++k) {
        const int pos = o * S - P + k;
        if (pos >= 0 && pos < L) sum += x[plane * L + pos];
    }
    y[plane * OL + o] = sum / K;
}

torch::Tensor avg_pool1d(torch::Tensor x, int64_t K, int64_t S, int64_t P) {
    const int L = x.size(2), OL = (L + 2 * P - K) / S + 1;
    const int planes = x.size(0) * x.size(1);
    TORCH_CHECK(planes <= 65535, "too many channels for the grid");
    auto y = torch::empty({x.size(0), x.size(1), OL}, x.options());
    if (S == 1) {
        const int per_block = 128 * STRIP;
        avg_pool1d_sliding<<<dim3((OL + per_block - 1) / per_block, planes), 128>>>(
            x.data_ptr<float>(), y.data_ptr<float>(), L, OL, K, P);
    } else {
        avg_pool1d_plain<<<dim3((OL + 255) / 256, planes), 256>>>(
            x.data_ptr<float>(), y.data_ptr<float>(), L, OL, K, S, P);
    }
    return y;
}
"""

ext = load_inline(
    name="avg_pool1d_sliding",
    cpp_sources="torch::Tensor avg_pool1d(torch::Tensor x, int64_t K, int64_t S, int64_t P);",
    cuda_sources=source,
    functions=["avg_pool1d"],
)


class ModelNew(nn.Module):
    def __init__(self, kernel_size: int, stride: int = 1, padding: int = 0):
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = stride
        self.padding = padding

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return ext.avg_pool1d(x.contiguous(), self.kernel_size, self.stride, self.padding)
