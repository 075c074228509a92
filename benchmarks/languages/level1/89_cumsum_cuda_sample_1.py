import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

SOURCE = r"""
#include <torch/extension.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAStream.h>

constexpr int THREADS = 256;
constexpr int WARPS = THREADS / 32;

__device__ __forceinline__ float4 loaded(const float4* in, int64_t at, int64_t quads) {
    return at < quads ? __ldcs(&in[at]) : make_float4(0.0f, 0.0f, 0.0f, 0.0f);
}

// One block a row, 1024 elements after the other. The next ones are on their way while these are added up.
__global__ void __launch_bounds__(THREADS)
cumsum_kernel(const float4* __restrict__ x, float4* __restrict__ y, int64_t quads) {
    __shared__ float totals[2][WARPS];  // two, so that one barrier a step is enough
    const float4* in = x + (int64_t)blockIdx.x * quads;
    float4* out = y + (int64_t)blockIdx.x * quads;
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    float carry = 0.0f;
    float4 next = loaded(in, threadIdx.x, quads);
    int turn = 0;
    for (int64_t start = 0; start < quads; start += THREADS, turn ^= 1) {
        const int64_t at = start + threadIdx.x;
        float4 v = next;
        next = loaded(in, at + THREADS, quads);
        v.y += v.x;
        v.z += v.y;
        v.w += v.z;
        float scanned = v.w;
        #pragma unroll
        for (int offset = 1; offset < 32; offset *= 2) {
            const float below = __shfl_up_sync(0xffffffff, scanned, offset);
            if (lane >= offset) scanned += below;
        }
        if (lane == 31) totals[turn][warp] = scanned;
        float before = __shfl_up_sync(0xffffffff, scanned, 1);
        if (lane == 0) before = 0.0f;
        __syncthreads();
        float below_warps = 0.0f, all = 0.0f;
        #pragma unroll
        for (int w = 0; w < WARPS; ++w) {
            if (w == warp) below_warps = all;
            all += totals[turn][w];
        }
        const float base = carry + (below_warps + before);
        if (at < quads) __stcs(&out[at], make_float4(base + v.x, base + v.y, base + v.z, base + v.w));
        carry += all;
    }
}

torch::Tensor cumsum(torch::Tensor x) {
    TORCH_CHECK(x.is_cuda() && x.is_contiguous() && x.dim() == 2, "a contiguous CUDA matrix is expected");
    TORCH_CHECK(x.size(1) % 4 == 0 && reinterpret_cast<uintptr_t>(x.data_ptr<float>()) % 16 == 0, "rows of float4");
    auto y = torch::empty_like(x);
    cumsum_kernel<<<x.size(0), THREADS, 0, at::cuda::getCurrentCUDAStream()>>>(
        reinterpret_cast<const float4*>(x.data_ptr<float>()), reinterpret_cast<float4*>(y.data_ptr<float>()),
        x.size(1) / 4);
    C10_CUDA_KERNEL_LAUNCH_CHECK();
    return y;
}
"""

kernels = load_inline(
    name="row_cumsum",
    cpp_sources="torch::Tensor cumsum(torch::Tensor x);",
    cuda_sources=SOURCE,
    functions=["cumsum"],
    extra_cuda_cflags=["-O3"],
)


class ModelNew(nn.Module):
    def __init__(self, dim: int):
        super().__init__()
        assert dim == 1, "written for rows of a matrix"

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return kernels.cumsum(x.contiguous())
