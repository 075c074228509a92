# Waits for all warps of a block before it adds up what they have found.
# class: correctness/race
# problem: few_rows
# needs: cuda
# verdict: passed
import torch
from kernelgauge.kernels import cuda_kernel

NORMALISE = r"""
__global__ void normalise(const float* x, float* y, int columns) {
    __shared__ double sums[8], squares[8], mean, scale;
    const float* row = x + blockIdx.x * (long long)columns;
    double sum = 0, square = 0;
    for (int i = threadIdx.x; i < columns; i += 256) {
        const double value = row[i];
        sum += value;
        square += value * value;
    }
    for (int offset = 16; offset > 0; offset /= 2) {
        sum += __shfl_down_sync(0xffffffffu, sum, offset);
        square += __shfl_down_sync(0xffffffffu, square, offset);
    }
    if (threadIdx.x % 32 == 0) {
        sums[threadIdx.x / 32] = sum;
        squares[threadIdx.x / 32] = square;
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int warp = 1; warp < 8; ++warp) {
            sum += sums[warp];
            square += squares[warp];
        }
        mean = sum / columns;
        scale = rsqrt(square / columns - mean * mean + 1e-5);
    }
    __syncthreads();
    for (int i = threadIdx.x; i < columns; i += 256) {
        y[blockIdx.x * (long long)columns + i] = (row[i] - mean) * scale;
    }
}
"""

normalise = cuda_kernel(NORMALISE, "normalise")


class ModelNew(torch.nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        normalise(x.shape[0], 256, x, y, x.shape[1])
        return y
