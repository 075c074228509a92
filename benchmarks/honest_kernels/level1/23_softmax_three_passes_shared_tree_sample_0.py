# One block a row, three passes over it, maximum and sum by trees in dynamic shared memory.
# style: shared
# expect: slower
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

softmax_src = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>
#include <math.h>

__global__ void softmax_kernel(const float* __restrict__ input, float* __restrict__ output, int cols) {
    extern __shared__ float sdata[];
    const int tid = threadIdx.x;
    const float* x = input + (size_t)blockIdx.x * cols;
    float* y = output + (size_t)blockIdx.x * cols;

    float m = -INFINITY;
    for (int i = tid; i < cols; i += blockDim.x) m = fmaxf(m, x[i]);
    sdata[tid] = m;
    __syncthreads();
    for (int s = blockDim.x / 2; s > 0; s >>= 1) {
        if (tid < s) sdata[tid] = fmaxf(sdata[tid], sdata[tid + s]);
        __syncthreads();
    }
    const float row_max = sdata[0];
    __syncthreads();

    float sum = 0.0f;
    for (int i = tid; i < cols; i += blockDim.x) {
        float e = expf(x[i] - row_max);
        y[i] = e;
        sum += e;
    }
    sdata[tid] = sum;
    __syncthreads();
    for (int s = blockDim.x / 2; s > 0; s >>= 1) {
        if (tid < s) sdata[tid] += sdata[tid + s];
        __syncthreads();
    }
    const float total = sdata[0];
    for (int i = tid; i < cols; i += blockDim.x) y[i] = y[i] / total;
}

torch::Tensor softmax_cuda(torch::Tensor input) {
    auto output = torch::empty_like(input);
    const int rows = input.size(0);
    const int cols = input.size(1);
    const int threads = 256;
    softmax_kernel<<<rows, threads, threads * sizeof(float)>>>(
        input.data_ptr<float>(), output.data_ptr<float>(), cols);
    return output;
}
"""

softmax_ext = load_inline(
    name="softmax_three_passes",
    cpp_sources="torch::Tensor softmax_cuda(torch::Tensor input);",
    cuda_sources=softmax_src,
    functions=["softmax_cuda"],
    verbose=False,
)


class ModelNew(nn.Module):
    def __init__(self):
        super(ModelNew, self).__init__()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return softmax_ext.softmax_cuda(x.contiguous())
