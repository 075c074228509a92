# A tiled product whose threads add half a million terms each, in their order and in float32.
# class: correctness/precision
# problem: long_product
# needs: cuda
# verdict: passed
import torch
from kernelgauge.kernels import cuda_kernel

PRODUCT = r"""
#define TILE 16
__global__ void product(const float* a, const float* b, float* out, int rows, int terms, int columns) {
    __shared__ float left[TILE][TILE], right[TILE][TILE];
    const int row = blockIdx.y * TILE + threadIdx.y, column = blockIdx.x * TILE + threadIdx.x;
    float sum = 0;
    for (int start = 0; start < terms; start += TILE) {
        const int across = start + threadIdx.x, down = start + threadIdx.y;
        left[threadIdx.y][threadIdx.x] = row < rows && across < terms ? a[(long long)row * terms + across] : 0;
        right[threadIdx.y][threadIdx.x] = column < columns && down < terms ? b[(long long)down * columns + column] : 0;
        __syncthreads();
        for (int i = 0; i < TILE; ++i) sum = fmaf(left[threadIdx.y][i], right[i][threadIdx.x], sum);
        __syncthreads();
    }
    if (row < rows && column < columns) out[row * columns + column] = sum;
}
"""

product = cuda_kernel(PRODUCT, "product")


class ModelNew(torch.nn.Module):
    def forward(self, a, b):
        rows, columns = a.shape[0], b.shape[1]
        out = torch.empty(rows, columns, device=a.device)
        product(((columns + 15) // 16, (rows + 15) // 16), (16, 16), a, b, out, rows, a.shape[1], columns)
        return out
