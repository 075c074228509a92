# Uses that A is symmetric to read it along columns; one thread an output, waits for the device.
# style: naive
# expect: slower
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>

// A equals its transpose, so A[k][row] serves for A[row][k].
__global__ void symmetric_matmul_kernel(const float* A, const float* B, float* C, int N) {
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < N && col < N) {
        float value = 0.0f;
        for (int k = 0; k < N; ++k) {
            value += A[(size_t)k * N + row] * B[(size_t)k * N + col];
        }
        C[(size_t)row * N + col] = value;
    }
}

torch::Tensor symmetric_matmul(torch::Tensor A, torch::Tensor B) {
    A = A.contiguous();
    B = B.contiguous();
    int N = A.size(0);
    auto C = torch::zeros({N, N}, A.options());
    dim3 threads(16, 16);
    dim3 blocks((N + 15) / 16, (N + 15) / 16);
    symmetric_matmul_kernel<<<blocks, threads>>>(A.data_ptr<float>(), B.data_ptr<float>(), C.data_ptr<float>(), N);
    cudaError_t err = cudaDeviceSynchronize();
    TORCH_CHECK(err == cudaSuccess, "kernel failed: ", cudaGetErrorString(err));
    return C;
}
"""

cpp_source = "torch::Tensor symmetric_matmul(torch::Tensor A, torch::Tensor B);"

ext = load_inline(
    name="symmetric_matmul_naive",
    cpp_sources=cpp_source,
    cuda_sources=source,
    functions=["symmetric_matmul"],
    verbose=False,
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, A, B):
        return ext.symmetric_matmul(A, B)
