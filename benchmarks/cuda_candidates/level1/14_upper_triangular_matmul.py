import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>
#include <c10/cuda/CUDAStream.h>

#define TILE 64
#define STEP 16

// Upper triangular times upper triangular: C[i][j] needs only i <= k <= j, and nothing below the diagonal.
// 256 threads a block, each with a 4x4 piece of the 64x64 tile.
__global__ void triu_matmul_kernel(const float* __restrict__ A, const float* __restrict__ B, float* __restrict__ C,
                                   int N) {
    __shared__ float As[STEP][TILE + 1];
    __shared__ float Bs[STEP][TILE];
    const int tid = threadIdx.x;
    const int tx = tid % 16, ty = tid / 16;
    const int row0 = blockIdx.y * TILE, col0 = blockIdx.x * TILE;

    float acc[4][4] = {};
    const int k_end = min(N, col0 + TILE);
    // Tiles below the diagonal have row0 >= k_end: the loop does not run and zeros are stored.
    for (int k0 = row0; k0 < k_end; k0 += STEP) {
        for (int i = tid; i < TILE * STEP; i += 256) {
            const int r = row0 + i / STEP, k = k0 + i % STEP;
            As[i % STEP][i / STEP] = (r < N && k < N && r <= k) ? A[(int64_t)r * N + k] : 0.0f;
        }
        for (int i = tid; i < TILE * STEP; i += 256) {
            const int k = k0 + i / TILE, c = col0 + i % TILE;
            Bs[i / TILE][i % TILE] = (k < N && c < N && k <= c) ? B[(int64_t)k * N + c] : 0.0f;
        }
        __syncthreads();
        #pragma unroll
        for (int k = 0; k < STEP; ++k) {
            float a[4], b[4];
            for (int i = 0; i < 4; ++i) a[i] = As[k][ty * 4 + i];
            for (int j = 0; j < 4; ++j) b[j] = Bs[k][tx + 16 * j];
            for (int i = 0; i < 4; ++i)
                for (int j = 0; j < 4; ++j) acc[i][j] = fmaf(a[i], b[j], acc[i][j]);
        }
        __syncthreads();
    }
    for (int i = 0; i < 4; ++i) {
        for (int j = 0; j < 4; ++j) {
            const int r = row0 + ty * 4 + i, c = col0 + tx + 16 * j;
            if (r < N && c < N) C[(int64_t)r * N + c] = r <= c ? acc[i][j] : 0.0f;
        }
    }
}

torch::Tensor triu_matmul(torch::Tensor A, torch::Tensor B) {
    TORCH_CHECK(A.is_cuda() && B.is_cuda(), "inputs must be on the GPU");
    TORCH_CHECK(A.sizes() == B.sizes() && A.dim() == 2 && A.size(0) == A.size(1), "square matrices expected");
    A = A.contiguous();
    B = B.contiguous();
    auto C = torch::empty_like(A);
    const int N = A.size(0);
    const dim3 grid((N + TILE - 1) / TILE, (N + TILE - 1) / TILE);
    triu_matmul_kernel<<<grid, 256, 0, at::cuda::getCurrentCUDAStream()>>>(
        A.data_ptr<float>(), B.data_ptr<float>(), C.data_ptr<float>(), N);
    return C;
}
"""

triu_module = load_inline(
    name="triu_matmul",
    cpp_sources="torch::Tensor triu_matmul(torch::Tensor A, torch::Tensor B);",
    cuda_sources=source,
    functions=["triu_matmul"],
    extra_cuda_cflags=["-O3"],
)


class ModelNew(nn.Module):
    def __init__(self):
        super(ModelNew, self).__init__()

    def forward(self, A, B):
        return triu_module.triu_matmul(A, B)
