# A row of A in shared memory, each thread four neighbouring columns with float4 stores.
# style: vectorised shared
# expect: slower
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

tall_skinny_rows_cpp = "torch::Tensor matmul_cuda(torch::Tensor A, torch::Tensor B);"

tall_skinny_rows_cuda = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>

// One block takes one row of A and 1024 columns; the short row waits in shared memory.
__global__ void outer_kernel(const float* __restrict__ A, const float* __restrict__ B, float* __restrict__ C,
                             int M, int N, int K) {
    extern __shared__ float row[];
    const int r = blockIdx.y;
    for (int k = threadIdx.x; k < K; k += blockDim.x) row[k] = A[(int64_t)r * K + k];
    __syncthreads();
    const int c = (blockIdx.x * blockDim.x + threadIdx.x) * 4;
    if (c + 3 < N && N % 4 == 0 && reinterpret_cast<uintptr_t>(B) % 16 == 0) {
        float4 acc = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
        for (int k = 0; k < K; ++k) {
            const float4 b = *reinterpret_cast<const float4*>(B + (int64_t)k * N + c);
            const float a = row[k];
            acc.x += a * b.x;
            acc.y += a * b.y;
            acc.z += a * b.z;
            acc.w += a * b.w;
        }
        *reinterpret_cast<float4*>(C + (int64_t)r * N + c) = acc;
    } else {
        for (int j = c; j < N && j < c + 4; ++j) {
            float acc = 0.0f;
            for (int k = 0; k < K; ++k) acc += row[k] * B[(int64_t)k * N + j];
            C[(int64_t)r * N + j] = acc;
        }
    }
}

torch::Tensor matmul_cuda(torch::Tensor A, torch::Tensor B) {
    A = A.contiguous();
    B = B.contiguous();
    const int M = A.size(0), K = A.size(1), N = B.size(1);
    TORCH_CHECK(M <= 65535, "too many rows for this grid");
    auto C = torch::empty({M, N}, A.options());
    dim3 grid((N + 1023) / 1024, M);
    outer_kernel<<<grid, 256, K * sizeof(float)>>>(A.data_ptr<float>(), B.data_ptr<float>(), C.data_ptr<float>(), M, N, K);
    return C;
}
"""

ext = load_inline(
    name="tall_skinny_rows_module",
    cpp_sources=[tall_skinny_rows_cpp],
    cuda_sources=[tall_skinny_rows_cuda],
    functions=["matmul_cuda"],
    extra_cflags=["-O2"],
    extra_cuda_cflags=["-O2"],
    verbose=False,
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, A, B):
        return ext.matmul_cuda(A, B)
