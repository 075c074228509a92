# Whole layer by 32 x 32 shared tiles, waits for the device and checks for errors.
# style: tiled shared
# expect: slower
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_src = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>
#include <c10/cuda/CUDAException.h>

#define TILE 32

// y = f(x @ w^T + b): the weight's tile is loaded along its rows and stored transposed.
__global__ void linear_relu_divide_kernel(const float* __restrict__ x, const float* __restrict__ w, const float* __restrict__ b,
                              float* __restrict__ y, int M, int N, int K, float divisor) {
    __shared__ float xs[TILE][TILE];
    __shared__ float ws[TILE][TILE + 1];
    const int row = blockIdx.y * TILE + threadIdx.y;
    const int col = blockIdx.x * TILE + threadIdx.x;
    const int wrow = blockIdx.x * TILE + threadIdx.y;
    float acc = 0.0f;
    for (int k0 = 0; k0 < K; k0 += TILE) {
        const int k = k0 + threadIdx.x;
        xs[threadIdx.y][threadIdx.x] = (row < M && k < K) ? x[(int64_t)row * K + k] : 0.0f;
        ws[threadIdx.x][threadIdx.y] = (wrow < N && k < K) ? w[(int64_t)wrow * K + k] : 0.0f;
        __syncthreads();
        #pragma unroll
        for (int i = 0; i < TILE; ++i) acc += xs[threadIdx.y][i] * ws[i][threadIdx.x];
        __syncthreads();
    }
    if (row < M && col < N) {
        float v = acc + b[col];
        v = (v < 0.0f ? 0.0f : v) / divisor;
        y[(int64_t)row * N + col] = v;
    }
}

torch::Tensor linear_relu_divide(torch::Tensor x, torch::Tensor w, torch::Tensor b, double divisor) {
    x = x.contiguous();
    w = w.contiguous();
    b = b.contiguous();
    const int M = x.size(0), K = x.size(1), N = w.size(0);
    auto y = torch::empty({M, N}, x.options());
    const dim3 block(TILE, TILE), grid((N + TILE - 1) / TILE, (M + TILE - 1) / TILE);
    linear_relu_divide_kernel<<<grid, block>>>(x.data_ptr<float>(), w.data_ptr<float>(), b.data_ptr<float>(),
                                   y.data_ptr<float>(), M, N, K, divisor);
    C10_CUDA_CHECK(cudaDeviceSynchronize());
    return y;
}
"""

ext = load_inline(
    name="linear_relu_divide_tiled_ext",
    cpp_sources="""
torch::Tensor linear_relu_divide(torch::Tensor x, torch::Tensor w, torch::Tensor b, double divisor);
""",
    cuda_sources=cuda_src,
    functions=["linear_relu_divide"],
    extra_cuda_cflags=["-O3"],
)


class ModelNew(nn.Module):
    def __init__(self, in_features: int, out_features: int, divisor: float):
        super().__init__()
        self.linear = nn.Linear(in_features, out_features)
        self.divisor = divisor

    def forward(self, x):
        return ext.linear_relu_divide(x, self.linear.weight, self.linear.bias, self.divisor)
