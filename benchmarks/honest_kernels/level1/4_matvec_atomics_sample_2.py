# Rows cut into pieces, one atomicAdd a piece into a zeroed result, current stream.
# style: atomics shared
# expect: about
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_src = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>
#include <c10/cuda/CUDAStream.h>

#define CHUNK 32768

__global__ void matvec_atomic_kernel(const float* __restrict__ A, const float* __restrict__ x, float* y, int64_t K) {
    __shared__ float warp_sums[8];
    const int64_t begin = (int64_t)blockIdx.x * CHUNK;
    const int64_t end = begin + CHUNK < K ? begin + CHUNK : K;
    const float* row = A + (int64_t)blockIdx.y * K;
    float sum = 0.0f;
    for (int64_t k = begin + threadIdx.x; k < end; k += blockDim.x) sum += row[k] * x[k];
    for (int offset = 16; offset > 0; offset >>= 1) sum += __shfl_down_sync(0xffffffff, sum, offset);
    if (threadIdx.x % 32 == 0) warp_sums[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x == 0) {
        float total = 0.0f;
        for (int w = 0; w < 8; ++w) total += warp_sums[w];
        atomicAdd(&y[blockIdx.y], total);
    }
}

torch::Tensor matvec_cuda(torch::Tensor A, torch::Tensor B) {
    A = A.contiguous();
    B = B.contiguous();
    const int64_t M = A.size(0), K = A.size(1);
    TORCH_CHECK(B.size(0) == K && B.size(1) == 1, "B must be a column of K values");
    TORCH_CHECK(M <= 65535, "too many rows");
    auto C = torch::zeros({M, 1}, A.options());
    const dim3 grid((K + CHUNK - 1) / CHUNK, M);
    matvec_atomic_kernel<<<grid, 256, 0, at::cuda::getCurrentCUDAStream()>>>(
        A.data_ptr<float>(), B.data_ptr<float>(), C.data_ptr<float>(), K);
    return C;
}
"""

ext = load_inline(
    name="matvec_atomics_ext",
    cpp_sources="torch::Tensor matvec_cuda(torch::Tensor A, torch::Tensor B);",
    cuda_sources=cuda_src,
    functions=["matvec_cuda"],
    extra_cuda_cflags=["-O3"],
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, A, B):
        return ext.matvec_cuda(A, B)
