# One thread a row: it reads its diagonal element once and walks along the row, uncoalesced.
# style: naive
# expect: slower
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

diag_src = """
#include <torch/extension.h>

__global__ void diag_mm(const float* A, const float* B, float* C, int N, int M) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < N) {
        float a = A[row];
        for (int j = 0; j < M; ++j) {
            C[(long long)row * M + j] = a * B[(long long)row * M + j];
        }
    }
}

torch::Tensor diag_matmul(torch::Tensor A, torch::Tensor B) {
    int N = B.size(0), M = B.size(1);
    auto C = torch::zeros({N, M}, B.options());
    int threads = 64;
    diag_mm<<<(N + threads - 1) / threads, threads>>>(
        A.data_ptr<float>(), B.data_ptr<float>(), C.data_ptr<float>(), N, M);
    cudaDeviceSynchronize();
    return C;
}
"""

diag = load_inline(
    name="diag_rows",
    cpp_sources="torch::Tensor diag_matmul(torch::Tensor A, torch::Tensor B);",
    cuda_sources=diag_src,
    functions=["diag_matmul"],
)


class ModelNew(nn.Module):
    def forward(self, A, B):
        return diag.diag_matmul(A.contiguous(), B.contiguous())
