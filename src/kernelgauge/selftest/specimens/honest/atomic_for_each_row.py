# One atomic addition for each block, in whatever order they come: as exact as float32 sums of so many terms are.
# class: correctness/precision
# problem: mean_loss
# needs: cuda
# verdict: passed
import torch
from kernelgauge.kernels import cuda_kernel

SQUARES = r"""
__global__ void squares(const float* a, const float* b, float* out, int count, float share) {
    __shared__ float parts[32];
    float sum = 0;
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) {
        const float apart = a[i] - b[i];
        sum = apart * apart;
    }
    parts[threadIdx.x] = sum;
    __syncthreads();
    for (int half = 16; half > 0; half /= 2) {
        if (threadIdx.x < half) parts[threadIdx.x] += parts[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0) atomicAdd(out, parts[0] * share);
}
"""

squares = cuda_kernel(SQUARES, "squares")


class ModelNew(torch.nn.Module):
    def forward(self, predictions, targets):
        out = torch.zeros((), device=predictions.device)
        count = predictions.numel()
        squares((count + 31) // 32, 32, predictions, targets, out, count, 1 / count)
        return out
