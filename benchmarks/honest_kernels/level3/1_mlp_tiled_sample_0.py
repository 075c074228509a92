# Every layer by a kernel of 32 x 32 shared tiles with bias and relu fused, default stream.
# style: tiled shared several_launches
# expect: slower
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>

#define TILE 32

__global__ void linear_kernel(const float* __restrict__ x, const float* __restrict__ w, const float* __restrict__ b,
                              float* __restrict__ y, int M, int N, int K, bool relu) {
    __shared__ float xs[TILE][TILE];
    __shared__ float ws[TILE][TILE + 1];
    const int tx = threadIdx.x, ty = threadIdx.y;
    const int row = blockIdx.y * TILE + ty, col = blockIdx.x * TILE + tx;
    const int wrow = blockIdx.x * TILE + ty;
    float acc = 0.0f;
    for (int k0 = 0; k0 < K; k0 += TILE) {
        xs[ty][tx] = (row < M && k0 + tx < K) ? x[(size_t)row * K + k0 + tx] : 0.0f;
        ws[ty][tx] = (wrow < N && k0 + tx < K) ? w[(size_t)wrow * K + k0 + tx] : 0.0f;
        __syncthreads();
        #pragma unroll
        for (int k = 0; k < TILE; ++k) acc += xs[ty][k] * ws[tx][k];
        __syncthreads();
    }
    if (row < M && col < N) {
        acc += b[col];
        y[(size_t)row * N + col] = (relu && acc < 0.0f) ? 0.0f : acc;
    }
}

torch::Tensor linear(torch::Tensor x, torch::Tensor w, torch::Tensor b, bool relu) {
    x = x.contiguous();
    w = w.contiguous();
    const int M = x.size(0), K = x.size(1), N = w.size(0);
    auto y = torch::empty({M, N}, x.options());
    dim3 block(TILE, TILE);
    dim3 grid((N + TILE - 1) / TILE, (M + TILE - 1) / TILE);
    linear_kernel<<<grid, block>>>(x.data_ptr<float>(), w.data_ptr<float>(), b.data_ptr<float>(), y.data_ptr<float>(),
                                   M, N, K, relu);
    return y;
}
"""

cpp_source = """
torch::Tensor linear(torch::Tensor x, torch::Tensor w, torch::Tensor b, bool relu);
"""

ext = load_inline(
    name="mlp_tiled",
    cpp_sources=cpp_source,
    cuda_sources=source,
    functions=["linear"],
    verbose=False,
)


class ModelNew(nn.Module):
    def __init__(self, input_size: int, layer_sizes: list, output_size: int):
        super().__init__()
        layers = []
        width = input_size
        for size in layer_sizes:
            layers.append(nn.Linear(width, size))
            layers.append(nn.ReLU())
            width = size
        layers.append(nn.Linear(width, output_size))
        self.network = nn.Sequential(*layers)

    def forward(self, x):
        layers = [layer for layer in self.network if isinstance(layer, nn.Linear)]
        for index, layer in enumerate(layers):
            x = ext.linear(x, layer.weight, layer.bias, index < len(layers) - 1)
        return x
