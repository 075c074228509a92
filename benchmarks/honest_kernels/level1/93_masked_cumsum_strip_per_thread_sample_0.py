# One block of 256 a row: threads add up strips, thread 0 scans the sums of the strips in order, then all write.
# style: shared, naive
# expect: slower
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

masked_source = """
#include <torch/extension.h>
#include <cuda_runtime.h>

__global__ void masked_cumsum_kernel(const float* x, const bool* mask, float* y, int cols) {
    __shared__ float strip_sums[256];
    const long long base = (long long)blockIdx.x * cols;
    const int strip = (cols + 255) / 256;
    const int begin = min(threadIdx.x * strip, cols);
    const int end = min(begin + strip, cols);
    float sum = 0.0f;
    for (int i = begin; i < end; ++i) {
        if (mask[base + i]) sum += x[base + i];
    }
    strip_sums[threadIdx.x] = sum;
    __syncthreads();
    if (threadIdx.x == 0) {
        float running = 0.0f;
        for (int t = 0; t < 256; ++t) {
            float s = strip_sums[t];
            strip_sums[t] = running;
            running += s;
        }
    }
    __syncthreads();
    float running = strip_sums[threadIdx.x];
    for (int i = begin; i < end; ++i) {
        if (mask[base + i]) running += x[base + i];
        y[base + i] = running;
    }
}

torch::Tensor masked_cumsum(torch::Tensor x, torch::Tensor mask) {
    auto y = torch::empty_like(x);
    masked_cumsum_kernel<<<x.size(0), 256>>>(
        x.data_ptr<float>(), mask.data_ptr<bool>(), y.data_ptr<float>(), x.size(1));
    return y;
}
"""

ext = load_inline(
    name="masked_cumsum_strips",
    cpp_sources="torch::Tensor masked_cumsum(torch::Tensor x, torch::Tensor mask);",
    cuda_sources=masked_source,
    functions=["masked_cumsum"],
)


class ModelNew(nn.Module):
    def __init__(self, dim: int):
        super().__init__()
        self.dim = dim

    def forward(self, x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        return ext.masked_cumsum(x.contiguous(), mask.bool().contiguous())
