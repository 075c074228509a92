import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

matvec_source = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>
#include <c10/cuda/CUDAStream.h>

__inline__ __device__ float warpReduceSum(float val) {
    for (int offset = 16; offset > 0; offset >>= 1) val += __shfl_down_sync(0xffffffff, val, offset);
    return val;
}

// One block per row: every thread sums its share, then shuffles and shared memory combine the block.
__global__ void matvec_kernel(const float* __restrict__ A, const float* __restrict__ x, float* __restrict__ y,
                              int64_t K, bool vectorized) {
    __shared__ float warp_sums[32];
    const float* row = A + (int64_t)blockIdx.x * K;
    float s0 = 0.0f, s1 = 0.0f, s2 = 0.0f, s3 = 0.0f;
    if (vectorized) {
        const float4* row4 = reinterpret_cast<const float4*>(row);
        const float4* x4 = reinterpret_cast<const float4*>(x);
        for (int64_t i = threadIdx.x; i < K / 4; i += blockDim.x) {
            const float4 a = row4[i];
            const float4 b = x4[i];
            s0 += a.x * b.x;
            s1 += a.y * b.y;
            s2 += a.z * b.z;
            s3 += a.w * b.w;
        }
    } else {
        for (int64_t i = threadIdx.x; i < K; i += blockDim.x) s0 += row[i] * x[i];
    }
    float sum = warpReduceSum((s0 + s1) + (s2 + s3));
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    if (lane == 0) warp_sums[warp] = sum;
    __syncthreads();
    if (warp == 0) {
        sum = lane < blockDim.x / 32 ? warp_sums[lane] : 0.0f;
        sum = warpReduceSum(sum);
        if (lane == 0) y[blockIdx.x] = sum;
    }
}

torch::Tensor matvec_cuda(torch::Tensor A, torch::Tensor B) {
    TORCH_CHECK(A.is_cuda() && B.is_cuda() && A.is_contiguous() && B.is_contiguous());
    TORCH_CHECK(B.dim() == 2 && B.size(1) == 1 && A.size(1) == B.size(0));
    const int64_t M = A.size(0), K = A.size(1);
    auto y = torch::empty({M, 1}, A.options());
    const auto address = reinterpret_cast<uintptr_t>(A.data_ptr<float>()) |
                         reinterpret_cast<uintptr_t>(B.data_ptr<float>());
    const bool vectorized = K % 4 == 0 && address % 16 == 0;
    matvec_kernel<<<M, 512, 0, at::cuda::getCurrentCUDAStream()>>>(
        A.data_ptr<float>(), B.data_ptr<float>(), y.data_ptr<float>(), K, vectorized);
    return y;
}
"""

matvec_cpp_source = "torch::Tensor matvec_cuda(torch::Tensor A, torch::Tensor B);"

matvec = load_inline(
    name="matvec",
    cpp_sources=matvec_cpp_source,
    cuda_sources=matvec_source,
    functions=["matvec_cuda"],
    verbose=True,
)


class ModelNew(nn.Module):
    def __init__(self) -> None:
        super().__init__()

    def forward(self, A: torch.Tensor, B: torch.Tensor) -> torch.Tensor:
        return matvec.matvec_cuda(A.contiguous(), B.contiguous())
