import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cumsum_source = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAStream.h>

constexpr int THREADS = 256;
constexpr int ITEMS = 4;
constexpr int WARPS = THREADS / 32;

// One block per row, 1024 elements at a time: scan in registers, then in the warp, then over the warps.
__global__ void __launch_bounds__(THREADS) cumsum_kernel(const float* __restrict__ x, float* __restrict__ y,
                                                         int64_t length) {
    __shared__ float warp_total[WARPS];
    const float* in = x + (int64_t)blockIdx.x * length;
    float* out = y + (int64_t)blockIdx.x * length;
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    float carry = 0.0f;
    for (int64_t tile = 0; tile < length; tile += THREADS * ITEMS) {
        const int64_t first = tile + threadIdx.x * ITEMS;
        float item[ITEMS];
        #pragma unroll
        for (int i = 0; i < ITEMS; ++i) item[i] = first + i < length ? in[first + i] : 0.0f;
        #pragma unroll
        for (int i = 1; i < ITEMS; ++i) item[i] += item[i - 1];

        float scanned = item[ITEMS - 1];
        #pragma unroll
        for (int offset = 1; offset < 32; offset *= 2) {
            const float below = __shfl_up_sync(0xffffffff, scanned, offset);
            if (lane >= offset) scanned += below;
        }
        if (lane == 31) warp_total[warp] = scanned;
        // What the lanes below have: shifted by one, so that nothing has to be subtracted again.
        float before = __shfl_up_sync(0xffffffff, scanned, 1);
        if (lane == 0) before = 0.0f;
        __syncthreads();
        float below_warps = 0.0f, tile_total = 0.0f;
        #pragma unroll
        for (int w = 0; w < WARPS; ++w) {
            if (w == warp) below_warps = tile_total;
            tile_total += warp_total[w];
        }
        const float base = carry + (below_warps + before);
        #pragma unroll
        for (int i = 0; i < ITEMS; ++i) {
            if (first + i < length) out[first + i] = base + item[i];
        }
        carry += tile_total;
        __syncthreads();  // warp_total is written again
    }
}

torch::Tensor cumsum_cuda(torch::Tensor x) {
    TORCH_CHECK(x.is_cuda(), "x must be a CUDA tensor");
    x = x.contiguous();
    auto y = torch::empty_like(x);
    const int64_t length = x.size(-1);
    const int64_t rows = x.numel() / length;
    cumsum_kernel<<<rows, THREADS, 0, at::cuda::getCurrentCUDAStream()>>>(
        x.data_ptr<float>(), y.data_ptr<float>(), length);
    C10_CUDA_KERNEL_LAUNCH_CHECK();
    return y;
}
"""

cumsum_ext = load_inline(
    name="cumsum_ext",
    cpp_sources="torch::Tensor cumsum_cuda(torch::Tensor x);",
    cuda_sources=cumsum_source,
    functions=["cumsum_cuda"],
    extra_cuda_cflags=["-O3"],
    verbose=False,
)


class ModelNew(nn.Module):
    def __init__(self, dim: int):
        super(ModelNew, self).__init__()
        self.dim = dim

    def forward(self, x):
        if self.dim in (-1, x.dim() - 1):
            return cumsum_ext.cumsum_cuda(x)
        moved = x.movedim(self.dim, -1).contiguous()
        return cumsum_ext.cumsum_cuda(moved).movedim(-1, self.dim).contiguous()
