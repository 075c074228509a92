# PyTorch flips, an own kernel scans a row with one warp and shuffles, PyTorch flips back.
# style: library, shuffle, several_launches
# expect: slower
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_src = r"""
#include <torch/extension.h>

__global__ void warp_scan_rows(const float* x, float* y, int rows, int cols) {
    const int row = blockIdx.x * 4 + threadIdx.x / 32, lane = threadIdx.x % 32;
    if (row >= rows) return;
    const float* in = x + (int64_t)row * cols;
    float* out = y + (int64_t)row * cols;
    float carry = 0.f;
    for (int start = 0; start < cols; start += 32) {
        float v = start + lane < cols ? in[start + lane] : 0.f;
        for (int offset = 1; offset < 32; offset *= 2) {
            const float below = __shfl_up_sync(0xffffffff, v, offset);
            if (lane >= offset) v += below;
        }
        v += carry;
        if (start + lane < cols) out[start + lane] = v;
        carry = __shfl_sync(0xffffffff, v, 31);
    }
}

torch::Tensor scan_rows(torch::Tensor x) {
    auto y = torch::empty_like(x);
    const int rows = x.size(0), cols = x.size(1);
    warp_scan_rows<<<(rows + 3) / 4, 128>>>(x.data_ptr<float>(), y.data_ptr<float>(), rows, cols);
    return y;
}
"""

ext = load_inline(
    name="warp_scan_rows",
    cpp_sources="torch::Tensor scan_rows(torch::Tensor x);",
    cuda_sources=cuda_src,
    functions=["scan_rows"],
)


class ModelNew(nn.Module):
    def __init__(self, dim: int):
        super().__init__()
        self.dim = dim

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        flipped = torch.flip(x, dims=[self.dim]).contiguous()
        return torch.flip(ext.scan_rows(flipped), dims=[self.dim])
