# One block of 256 for each sample and feature: mean, then variance, then the output, four passes in all.
# style: shared
# expect: about
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

instance_norm_source = """
#include <torch/extension.h>
#include <cuda_runtime.h>

__global__ void instance_norm_kernel(const float* input, float* output, int size, float eps) {
    __shared__ float sdata[256];
    __shared__ float mean, inv_std;
    int tid = threadIdx.x;
    const float* x = input + (long long)blockIdx.x * size;
    float* y = output + (long long)blockIdx.x * size;

    float sum = 0;
    for (int i = tid; i < size; i += 256) sum += x[i];
    sdata[tid] = sum;
    __syncthreads();
    for (int s = 128; s > 0; s >>= 1) {
        if (tid < s) sdata[tid] += sdata[tid + s];
        __syncthreads();
    }
    if (tid == 0) mean = sdata[0] / size;
    __syncthreads();

    float var = 0;
    for (int i = tid; i < size; i += 256) var += (x[i] - mean) * (x[i] - mean);
    sdata[tid] = var;
    __syncthreads();
    for (int s = 128; s > 0; s >>= 1) {
        if (tid < s) sdata[tid] += sdata[tid + s];
        __syncthreads();
    }
    if (tid == 0) inv_std = rsqrtf(sdata[0] / size + eps);
    __syncthreads();

    for (int i = tid; i < size; i += 256) y[i] = (x[i] - mean) * inv_std;
}

torch::Tensor instance_norm(torch::Tensor x, float eps) {
    auto y = torch::empty_like(x);
    int planes = x.size(0) * x.size(1);
    int size = x.size(2) * x.size(3);
    instance_norm_kernel<<<planes, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), size, eps);
    cudaDeviceSynchronize();
    return y;
}
"""

instance_norm = load_inline(
    name="instance_norm",
    cpp_sources="torch::Tensor instance_norm(torch::Tensor x, float eps);",
    cuda_sources=instance_norm_source,
    functions=["instance_norm"],
)


class ModelNew(nn.Module):
    def __init__(self, num_features: int):
        super().__init__()
        self.num_features = num_features
        self.eps = 1e-5

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return instance_norm.instance_norm(x.contiguous(), self.eps)
