# One thread an output, blockIdx.z is the batch, default stream.
# style: naive
# expect: slower
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>

__global__ void bmm_kernel(const float* __restrict__ A, const float* __restrict__ B, float* __restrict__ C,
                           int M, int N, int K) {
    const float* a = A + (int64_t)blockIdx.z * M * K;
    const float* b = B + (int64_t)blockIdx.z * K * N;
    float* c = C + (int64_t)blockIdx.z * M * N;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= M || col >= N) return;
    float acc = 0.0f;
    for (int k = 0; k < K; k++) {
        acc += a[(int64_t)row * K + k] * b[(int64_t)k * N + col];
    }
    c[(int64_t)row * N + col] = acc;
}

torch::Tensor bmm_cuda(torch::Tensor A, torch::Tensor B) {
    TORCH_CHECK(A.dim() == 3 && B.dim() == 3 && A.size(0) == B.size(0) && A.size(2) == B.size(1), "shape mismatch");
    A = A.contiguous();
    B = B.contiguous();
    const int batch = A.size(0), M = A.size(1), K = A.size(2), N = B.size(2);
    auto C = torch::empty({batch, M, N}, A.options());
    dim3 block(32, 8);
    dim3 grid((N + block.x - 1) / block.x, (M + block.y - 1) / block.y, batch);
    bmm_kernel<<<grid, block>>>(A.data_ptr<float>(), B.data_ptr<float>(), C.data_ptr<float>(), M, N, K);
    return C;
}
"""

cpp_source = "torch::Tensor bmm_cuda(torch::Tensor A, torch::Tensor B);"

ext = load_inline(
    name="bmm_naive",
    cpp_sources=cpp_source,
    cuda_sources=source,
    functions=["bmm_cuda"],
    verbose=False,
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, A, B):
        return ext.bmm_cuda(A, B)
