# Takes mean and variance of four million values in one pass: 256 threads add up theirs in float32, a tree the rest.
# class: correctness/precision
# problem: norm_of_maps
# needs: cuda
# verdict: passed
import torch
import torch.nn as nn
from kernelgauge.kernels import cuda_kernel

NORMALISE = r"""
#define THREADS 256
__global__ void normalise(const float* x, const float* weight, const float* bias, float* y, int count, float epsilon) {
    __shared__ float sums[THREADS], squares[THREADS];
    const float* row = x + blockIdx.x * (long long)count;
    float sum = 0, square = 0;
    for (int i = threadIdx.x; i < count; i += THREADS) {
        sum += row[i];
        square += row[i] * row[i];
    }
    sums[threadIdx.x] = sum;
    squares[threadIdx.x] = square;
    __syncthreads();
    for (int half = THREADS / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) {
            sums[threadIdx.x] += sums[threadIdx.x + half];
            squares[threadIdx.x] += squares[threadIdx.x + half];
        }
        __syncthreads();
    }
    const float mean = sums[0] / count, scale = rsqrtf(squares[0] / count - mean * mean + epsilon);
    for (int i = threadIdx.x; i < count; i += THREADS)
        y[blockIdx.x * (long long)count + i] = (row[i] - mean) * scale * weight[i] + bias[i];
}
"""

normalise = cuda_kernel(NORMALISE, "normalise")


class ModelNew(nn.Module):
    def __init__(self, shape):
        super().__init__()
        self.norm = nn.LayerNorm(shape)

    def forward(self, x):
        y = torch.empty_like(x)
        norm = self.norm
        normalise(x.shape[0], 256, x, norm.weight, norm.bias, y, x[0].numel(), norm.eps)
        return y
