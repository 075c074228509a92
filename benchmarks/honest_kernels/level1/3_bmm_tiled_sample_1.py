# Shared-memory tiles of 16 for every batch entry, current stream.
# style: tiled shared
# expect: slower
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_src = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>
#include <c10/cuda/CUDAStream.h>

#define TILE 16

__global__ void bmm_kernel(const float* __restrict__ A, const float* __restrict__ B, float* __restrict__ C,
                           int M, int N, int K) {
    const float* a = A + (int64_t)blockIdx.z * M * K;
    const float* b = B + (int64_t)blockIdx.z * K * N;
    float* c = C + (int64_t)blockIdx.z * M * N;
    __shared__ float sa[TILE][TILE];
    __shared__ float sb[TILE][TILE];
    const int row = blockIdx.y * TILE + threadIdx.y, col = blockIdx.x * TILE + threadIdx.x;
    float acc = 0.0f;
    for (int k0 = 0; k0 < K; k0 += TILE) {
        const int ka = k0 + threadIdx.x, kb = k0 + threadIdx.y;
        sa[threadIdx.y][threadIdx.x] = (row < M && ka < K) ? a[(int64_t)row * K + ka] : 0.0f;
        sb[threadIdx.y][threadIdx.x] = (kb < K && col < N) ? b[(int64_t)kb * N + col] : 0.0f;
        __syncthreads();
        for (int k = 0; k < TILE; k++) acc = fmaf(sa[threadIdx.y][k], sb[k][threadIdx.x], acc);
        __syncthreads();
    }
    if (row < M && col < N) c[(int64_t)row * N + col] = acc;
}

torch::Tensor bmm_cuda(torch::Tensor A, torch::Tensor B) {
    TORCH_CHECK(A.dim() == 3 && B.dim() == 3 && A.size(0) == B.size(0) && A.size(2) == B.size(1), "shape mismatch");
    A = A.contiguous();
    B = B.contiguous();
    const int batch = A.size(0), M = A.size(1), K = A.size(2), N = B.size(2);
    auto C = torch::empty({batch, M, N}, A.options());
    dim3 block(TILE, TILE);
    dim3 grid((N + block.x - 1) / block.x, (M + block.y - 1) / block.y, batch);
    bmm_kernel<<<grid, block, 0, at::cuda::getCurrentCUDAStream()>>>(A.data_ptr<float>(), B.data_ptr<float>(), C.data_ptr<float>(), M, N, K);
    return C;
}
"""

ext = load_inline(
    name="bmm_tiled_ext",
    cpp_sources="torch::Tensor bmm_cuda(torch::Tensor A, torch::Tensor B);",
    cuda_sources=cuda_src,
    functions=["bmm_cuda"],
    extra_cuda_cflags=["-O3"],
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, A, B):
        return ext.bmm_cuda(A, B)
