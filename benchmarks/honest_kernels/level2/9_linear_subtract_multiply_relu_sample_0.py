# Whole layer in one kernel of 32 x 32 shared tiles, default stream.
# style: tiled shared
# expect: slower
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>

#define TILE 32

// y = f(x @ w^T + b): the weight's tile is loaded along its rows and stored transposed.
__global__ void linear_relu_kernel(const float* __restrict__ x, const float* __restrict__ w, const float* __restrict__ b,
                              float* __restrict__ y, int M, int N, int K, float subtract, float multiply) {
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
        v = (v - subtract) * multiply;
        v = v < 0.0f ? 0.0f : v;
        y[(int64_t)row * N + col] = v;
    }
}

torch::Tensor linear_relu(torch::Tensor x, torch::Tensor w, torch::Tensor b, double subtract, double multiply) {
    x = x.contiguous();
    w = w.contiguous();
    b = b.contiguous();
    const int M = x.size(0), K = x.size(1), N = w.size(0);
    auto y = torch::empty({M, N}, x.options());
    const dim3 block(TILE, TILE), grid((N + TILE - 1) / TILE, (M + TILE - 1) / TILE);
    linear_relu_kernel<<<grid, block>>>(x.data_ptr<float>(), w.data_ptr<float>(), b.data_ptr<float>(),
                                   y.data_ptr<float>(), M, N, K, subtract, multiply);
    return y;
}
"""

cpp_source = """
torch::Tensor linear_relu(torch::Tensor x, torch::Tensor w, torch::Tensor b, double subtract, double multiply);
"""

ext = load_inline(
    name="linear_subtract_multiply_relu",
    cpp_sources=cpp_source,
    cuda_sources=source,
    functions=["linear_relu"],
    verbose=False,
)


class ModelNew(nn.Module):
    def __init__(self, in_features: int, out_features: int, subtract_value: float, multiply_value: float):
        super().__init__()
        self.linear = nn.Linear(in_features, out_features)
        self.subtract_value = subtract_value
        self.multiply_value = multiply_value

    def forward(self, x):
        layer = self.linear
        return ext.linear_relu(x, layer.weight, layer.bias, self.subtract_value, self.multiply_value)
