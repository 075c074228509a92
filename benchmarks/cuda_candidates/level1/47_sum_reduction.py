import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

sum_source = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>
#include <c10/cuda/CUDAStream.h>
#include <vector>

#define COLUMNS 32
#define PARTS 16

// The tensor is seen as (outer, reduced, inner). A warp reads 32 neighbouring columns of one row; the sixteen warps
// of a block share the rows, and their sums meet in shared memory.
__global__ void sum_kernel(const float* __restrict__ x, float* __restrict__ out, int64_t reduced, int64_t inner) {
    __shared__ float partial[PARTS][COLUMNS];
    const int64_t column = (int64_t)blockIdx.x * COLUMNS + threadIdx.x;
    const float* slab = x + (int64_t)blockIdx.y * reduced * inner;
    float sum = 0.0f;
    if (column < inner) {
        for (int64_t r = threadIdx.y; r < reduced; r += PARTS) sum += slab[r * inner + column];
    }
    partial[threadIdx.y][threadIdx.x] = sum;
    __syncthreads();
    for (int half = PARTS / 2; half > 0; half /= 2) {
        if (threadIdx.y < half) partial[threadIdx.y][threadIdx.x] += partial[threadIdx.y + half][threadIdx.x];
        __syncthreads();
    }
    if (threadIdx.y == 0 && column < inner) out[(int64_t)blockIdx.y * inner + column] = partial[0][threadIdx.x];
}

torch::Tensor sum_dim_cuda(torch::Tensor x, int64_t dim) {
    TORCH_CHECK(x.is_cuda(), "x must be a CUDA tensor");
    x = x.contiguous();
    if (dim < 0) dim += x.dim();
    std::vector<int64_t> shape = x.sizes().vec();
    int64_t outer = 1, inner = 1;
    for (int64_t d = 0; d < dim; ++d) outer *= shape[d];
    for (int64_t d = dim + 1; d < x.dim(); ++d) inner *= shape[d];
    const int64_t reduced = shape[dim];
    TORCH_CHECK(outer <= 65535, "too many slabs for the grid");
    shape[dim] = 1;
    auto out = torch::empty(shape, x.options());
    const dim3 block(COLUMNS, PARTS);
    const dim3 grid((inner + COLUMNS - 1) / COLUMNS, outer);
    sum_kernel<<<grid, block, 0, at::cuda::getCurrentCUDAStream()>>>(
        x.data_ptr<float>(), out.data_ptr<float>(), reduced, inner);
    return out;
}
"""

sum_reduction = load_inline(
    name="sum_reduction",
    cpp_sources="torch::Tensor sum_dim_cuda(torch::Tensor x, int64_t dim);",
    cuda_sources=sum_source,
    functions=["sum_dim_cuda"],
    extra_cuda_cflags=["-O3"],
    verbose=False,
)


class ModelNew(nn.Module):
    def __init__(self, dim: int):
        super().__init__()
        self.dim = dim

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return sum_reduction.sum_dim_cuda(x, self.dim)
