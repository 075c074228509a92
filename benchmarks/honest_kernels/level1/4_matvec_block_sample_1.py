# One block a row, tree reduction in shared memory, default stream.
# style: shared
# expect: about
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

matvec_block_cpp = "torch::Tensor matvec_cuda(torch::Tensor A, torch::Tensor B);"

matvec_block_cuda = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>

__global__ void matvec_block_kernel(const float* A, const float* x, float* y, int64_t K) {
    __shared__ float cache[256];
    const float* row = A + (int64_t)blockIdx.x * K;
    float sum = 0.0f;
    for (int64_t k = threadIdx.x; k < K; k += blockDim.x) {
        sum += row[k] * x[k];
    }
    cache[threadIdx.x] = sum;
    __syncthreads();
    for (int s = blockDim.x / 2; s > 0; s >>= 1) {
        if (threadIdx.x < s) cache[threadIdx.x] += cache[threadIdx.x + s];
        __syncthreads();
    }
    if (threadIdx.x == 0) y[blockIdx.x] = cache[0];
}

torch::Tensor matvec_cuda(torch::Tensor A, torch::Tensor B) {
    A = A.contiguous();
    B = B.contiguous();
    const int64_t M = A.size(0), K = A.size(1);
    TORCH_CHECK(B.size(0) == K && B.size(1) == 1, "B must be a column of K values");
    auto C = torch::empty({M, 1}, A.options());
    matvec_block_kernel<<<M, 256>>>(A.data_ptr<float>(), B.data_ptr<float>(), C.data_ptr<float>(), K);
    return C;
}
"""

ext = load_inline(
    name="matvec_block_module",
    cpp_sources=[matvec_block_cpp],
    cuda_sources=[matvec_block_cuda],
    functions=["matvec_cuda"],
    extra_cflags=["-O2"],
    extra_cuda_cflags=["-O2"],
    verbose=False,
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, A, B):
        return ext.matvec_cuda(A, B)
