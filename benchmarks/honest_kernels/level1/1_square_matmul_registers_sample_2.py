# Register tiles of 4x4 in shared tiles of 64, float4 loads, current stream.
# style: vectorised shared
# expect: slower
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_src = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>
#include <c10/cuda/CUDAStream.h>

#define BM 64
#define BN 64
#define BK 16

// 16x16 threads, each with a 4x4 piece of a 64x64 tile; B's tile is loaded with float4 where rows allow it.
__global__ void sgemm_4x4(const float* __restrict__ A, const float* __restrict__ B, float* __restrict__ C,
                          int M, int N, int K) {
    __shared__ float As[BK][BM + 4];
    __shared__ __align__(16) float Bs[BK][BN];
    const int tid = threadIdx.x;
    const int tr = tid / 16, tc = tid % 16;
    const int row0 = blockIdx.y * BM, col0 = blockIdx.x * BN;
    const bool vec = (N % 4 == 0) && reinterpret_cast<uintptr_t>(B) % 16 == 0;
    float acc[4][4];
    for (int i = 0; i < 4; ++i)
        for (int j = 0; j < 4; ++j) acc[i][j] = 0.0f;

    for (int k0 = 0; k0 < K; k0 += BK) {
        for (int i = tid; i < BM * BK; i += 256) {
            const int r = i / BK, k = i % BK;
            As[k][r] = (row0 + r < M && k0 + k < K) ? A[(int64_t)(row0 + r) * K + k0 + k] : 0.0f;
        }
        {
            const int k = tid / 16, c = (tid % 16) * 4;
            float4 v = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
            if (k0 + k < K) {
                const float* src = B + (int64_t)(k0 + k) * N + col0 + c;
                if (vec && col0 + c + 3 < N) {
                    v = *reinterpret_cast<const float4*>(src);
                } else {
                    if (col0 + c < N) v.x = src[0];
                    if (col0 + c + 1 < N) v.y = src[1];
                    if (col0 + c + 2 < N) v.z = src[2];
                    if (col0 + c + 3 < N) v.w = src[3];
                }
            }
            *reinterpret_cast<float4*>(&Bs[k][c]) = v;
        }
        __syncthreads();
        #pragma unroll
        for (int k = 0; k < BK; ++k) {
            float a[4];
            for (int i = 0; i < 4; ++i) a[i] = As[k][tr * 4 + i];
            const float4 b = *reinterpret_cast<const float4*>(&Bs[k][tc * 4]);
            for (int i = 0; i < 4; ++i) {
                acc[i][0] += a[i] * b.x;
                acc[i][1] += a[i] * b.y;
                acc[i][2] += a[i] * b.z;
                acc[i][3] += a[i] * b.w;
            }
        }
        __syncthreads();
    }
    for (int i = 0; i < 4; ++i) {
        for (int j = 0; j < 4; ++j) {
            const int r = row0 + tr * 4 + i, c = col0 + tc * 4 + j;
            if (r < M && c < N) C[(int64_t)r * N + c] = acc[i][j];
        }
    }
}

torch::Tensor matmul_cuda(torch::Tensor A, torch::Tensor B) {
    TORCH_CHECK(A.is_cuda() && B.is_cuda(), "inputs must be CUDA tensors");
    A = A.contiguous();
    B = B.contiguous();
    const int M = A.size(0), K = A.size(1), N = B.size(1);
    auto C = torch::empty({M, N}, A.options());
    const dim3 block(256);
    const dim3 grid((N + BN - 1) / BN, (M + BM - 1) / BM);
    sgemm_4x4<<<grid, block, 0, at::cuda::getCurrentCUDAStream()>>>(
        A.data_ptr<float>(), B.data_ptr<float>(), C.data_ptr<float>(), M, N, K);
    return C;
}
"""

ext = load_inline(
    name="square_matmul_registers_ext",
    cpp_sources="torch::Tensor matmul_cuda(torch::Tensor A, torch::Tensor B);",
    cuda_sources=cuda_src,
    functions=["matmul_cuda"],
    extra_cuda_cflags=["-O3"],
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, A, B):
        return ext.matmul_cuda(A, B)
