# Split K in pieces of 4096, partial tiles added by atomicAdd, default stream.
# style: atomics tiled shared
# expect: slower
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>

#define TILE 32
#define CHUNK 4096

// blockIdx.z takes a piece of K; the pieces meet in C by atomicAdd.
__global__ void matmul_splitk_kernel(const float* __restrict__ A, const float* __restrict__ B, float* C,
                                     int M, int N, int K) {
    __shared__ float As[TILE][TILE];
    __shared__ float Bs[TILE][TILE + 1];
    const int row = blockIdx.y * TILE + threadIdx.y;
    const int col = blockIdx.x * TILE + threadIdx.x;
    const int begin = blockIdx.z * CHUNK;
    const int end = min(K, begin + CHUNK);
    float sum = 0.0f;
    for (int k0 = begin; k0 < end; k0 += TILE) {
        const int ka = k0 + threadIdx.x, kb = k0 + threadIdx.y;
        As[threadIdx.y][threadIdx.x] = (row < M && ka < end) ? A[(int64_t)row * K + ka] : 0.0f;
        Bs[threadIdx.y][threadIdx.x] = (col < N && kb < end) ? B[(int64_t)kb * N + col] : 0.0f;
        __syncthreads();
        #pragma unroll
        for (int k = 0; k < TILE; ++k) sum += As[threadIdx.y][k] * Bs[k][threadIdx.x];
        __syncthreads();
    }
    if (row < M && col < N) atomicAdd(&C[(int64_t)row * N + col], sum);
}

torch::Tensor matmul_cuda(torch::Tensor A, torch::Tensor B) {
    A = A.contiguous();
    B = B.contiguous();
    const int M = A.size(0), K = A.size(1), N = B.size(1);
    auto C = torch::zeros({M, N}, A.options());
    const dim3 block(TILE, TILE);
    const dim3 grid((N + TILE - 1) / TILE, (M + TILE - 1) / TILE, (K + CHUNK - 1) / CHUNK);
    matmul_splitk_kernel<<<grid, block>>>(A.data_ptr<float>(), B.data_ptr<float>(), C.data_ptr<float>(), M, N, K);
    return C;
}
"""

cpp_source = "torch::Tensor matmul_cuda(torch::Tensor A, torch::Tensor B);"

ext = load_inline(
    name="large_k_split",
    cpp_sources=cpp_source,
    cuda_sources=source,
    functions=["matmul_cuda"],
    verbose=False,
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, A, B):
        return ext.matmul_cuda(A, B)
