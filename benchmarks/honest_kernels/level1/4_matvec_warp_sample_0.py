# One warp a row, float4 loads, partial sums added by shuffles.
# style: shuffle vectorised
# expect: slower
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>

// Four warps a block, one row each.
__global__ void matvec_warp_kernel(const float* __restrict__ A, const float* __restrict__ x, float* __restrict__ y,
                                   int64_t M, int64_t K) {
    const int lane = threadIdx.x % 32;
    const int64_t row = (int64_t)blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
    if (row >= M) return;
    const float* a = A + row * K;
    float sum = 0.0f;
    if (K % 4 == 0 && reinterpret_cast<uintptr_t>(A) % 16 == 0 && reinterpret_cast<uintptr_t>(x) % 16 == 0) {
        const float4* a4 = reinterpret_cast<const float4*>(a);
        const float4* x4 = reinterpret_cast<const float4*>(x);
        for (int64_t k = lane; k < K / 4; k += 32) {
            const float4 u = a4[k], v = x4[k];
            sum += u.x * v.x + u.y * v.y + u.z * v.z + u.w * v.w;
        }
    } else {
        for (int64_t k = lane; k < K; k += 32) sum += a[k] * x[k];
    }
    for (int offset = 16; offset > 0; offset /= 2) sum += __shfl_down_sync(0xffffffff, sum, offset);
    if (lane == 0) y[row] = sum;
}

torch::Tensor matvec_cuda(torch::Tensor A, torch::Tensor B) {
    A = A.contiguous();
    B = B.contiguous();
    const int64_t M = A.size(0), K = A.size(1);
    TORCH_CHECK(B.size(0) == K && B.size(1) == 1, "B must be a column of K values");
    auto C = torch::empty({M, 1}, A.options());
    const int threads = 128;
    const int blocks = (M + 3) / 4;
    matvec_warp_kernel<<<blocks, threads>>>(A.data_ptr<float>(), B.data_ptr<float>(), C.data_ptr<float>(), M, K);
    return C;
}
"""

cpp_source = "torch::Tensor matvec_cuda(torch::Tensor A, torch::Tensor B);"

ext = load_inline(
    name="matvec_warp",
    cpp_sources=cpp_source,
    cuda_sources=source,
    functions=["matvec_cuda"],
    verbose=False,
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, A, B):
        return ext.matvec_cuda(A, B)
