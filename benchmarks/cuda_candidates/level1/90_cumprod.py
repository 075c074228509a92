import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cumprod_source = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAStream.h>

// Products of pieces can overflow where the running product has long become zero, and zero times infinity is NaN.
// So every row is multiplied strictly from left to right by one lane: a warp takes 32 rows and passes 32x32 tiles
// through shared memory, which keeps global reads and writes coalesced.
__global__ void __launch_bounds__(32) cumprod_kernel(const float* __restrict__ x, float* __restrict__ y,
                                                     int64_t rows, int64_t length) {
    __shared__ float tile[32][33];
    const int lane = threadIdx.x;
    const int64_t row0 = (int64_t)blockIdx.x * 32;
    double product = 1.0;  // thousands of roundings would add up
    for (int64_t col0 = 0; col0 < length; col0 += 32) {
        const int64_t col = col0 + lane;
        #pragma unroll 8
        for (int r = 0; r < 32; ++r) {
            tile[r][lane] = row0 + r < rows && col < length ? x[(row0 + r) * length + col] : 1.0f;
        }
        __syncwarp();
        #pragma unroll 8
        for (int c = 0; c < 32; ++c) {
            product *= tile[lane][c];
            tile[lane][c] = (float)product;
        }
        __syncwarp();
        #pragma unroll 8
        for (int r = 0; r < 32; ++r) {
            if (row0 + r < rows && col < length) y[(row0 + r) * length + col] = tile[r][lane];
        }
        __syncwarp();
    }
}

torch::Tensor cumprod_cuda(torch::Tensor x) {
    TORCH_CHECK(x.is_cuda() && x.is_contiguous(), "x must be a contiguous CUDA tensor");
    auto y = torch::empty_like(x);
    const int64_t length = x.size(-1);
    const int64_t rows = x.numel() / length;
    cumprod_kernel<<<(rows + 31) / 32, 32, 0, at::cuda::getCurrentCUDAStream()>>>(
        x.data_ptr<float>(), y.data_ptr<float>(), rows, length);
    C10_CUDA_KERNEL_LAUNCH_CHECK();
    return y;
}
"""

cumprod_ext = load_inline(
    name="cumprod_ext",
    cpp_sources="torch::Tensor cumprod_cuda(torch::Tensor x);",
    cuda_sources=cumprod_source,
    functions=["cumprod_cuda"],
    extra_cuda_cflags=["-O3"],
)


class ModelNew(nn.Module):
    def __init__(self, dim: int):
        super().__init__()
        self.dim = dim

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        moved = x.movedim(self.dim, -1).contiguous()
        return cumprod_ext.cumprod_cuda(moved).movedim(-1, self.dim).contiguous()
