# One thread an output, only the terms below the diagonal, current stream.
# style: naive
# expect: slower
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_src = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>
#include <c10/cuda/CUDAStream.h>

__global__ void tril_matmul_kernel(const float* __restrict__ A, const float* __restrict__ B, float* __restrict__ C, int N) {
    const int row = blockIdx.y * blockDim.y + threadIdx.y;
    const int col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= N || col >= N) return;
    float sum = 0.0f;
    if (row >= col) {
        for (int k = col; k <= row; ++k) sum += A[(int64_t)row * N + k] * B[(int64_t)k * N + col];
    }
    C[(int64_t)row * N + col] = sum;
}

torch::Tensor tril_matmul(torch::Tensor A, torch::Tensor B) {
    A = A.contiguous();
    B = B.contiguous();
    const int N = A.size(0);
    auto C = torch::empty_like(A);
    const dim3 block(32, 8);
    const dim3 grid((N + block.x - 1) / block.x, (N + block.y - 1) / block.y);
    tril_matmul_kernel<<<grid, block, 0, at::cuda::getCurrentCUDAStream()>>>(A.data_ptr<float>(), B.data_ptr<float>(), C.data_ptr<float>(), N);
    return C;
}
"""

ext = load_inline(
    name="lower_triangular_naive_ext",
    cpp_sources="torch::Tensor tril_matmul(torch::Tensor A, torch::Tensor B);",
    cuda_sources=cuda_src,
    functions=["tril_matmul"],
    extra_cuda_cflags=["-O3"],
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, A, B):
        return ext.tril_matmul(A, B)
