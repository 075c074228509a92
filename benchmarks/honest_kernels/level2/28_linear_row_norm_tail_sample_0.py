# Library product; one block a row normalises it over its features, sums by warp shuffles.
# style: library shuffle
# expect: about
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>

__device__ __forceinline__ float warp_sum(float v) {
    for (int offset = 16; offset > 0; offset >>= 1) v += __shfl_xor_sync(0xffffffff, v, offset);
    return v;
}

__device__ float block_sum(float v, float* shared) {
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    v = warp_sum(v);
    __syncthreads();
    if (lane == 0) shared[warp] = v;
    __syncthreads();
    float total = 0.0f;
    for (int w = 0; w < blockDim.x / 32; ++w) total += shared[w];
    return total;
}

// One instance is a row, since each row is a picture of one pixel a feature.
__global__ void norm_add_multiply_kernel(const float* __restrict__ x, const float* __restrict__ other,
                                         float* __restrict__ y, int columns, float eps) {
    __shared__ float shared[32];
    const int64_t base = (int64_t)blockIdx.x * columns;
    float sum = 0.0f;
    for (int i = threadIdx.x; i < columns; i += blockDim.x) sum += x[base + i];
    const float mean = block_sum(sum, shared) / columns;
    float squares = 0.0f;
    for (int i = threadIdx.x; i < columns; i += blockDim.x) {
        const float d = x[base + i] - mean;
        squares += d * d;
    }
    const float scale = rsqrtf(block_sum(squares, shared) / columns + eps);
    for (int i = threadIdx.x; i < columns; i += blockDim.x) {
        const float o = other[base + i];
        y[base + i] = ((x[base + i] - mean) * scale + o) * o;
    }
}

torch::Tensor norm_add_multiply(torch::Tensor x, torch::Tensor other, double eps) {
    x = x.contiguous();
    other = other.contiguous();
    auto y = torch::empty_like(x);
    norm_add_multiply_kernel<<<x.size(0), 256>>>(x.data_ptr<float>(), other.data_ptr<float>(), y.data_ptr<float>(),
                                                 x.size(1), eps);
    return y;
}
"""

cpp_source = """
torch::Tensor norm_add_multiply(torch::Tensor x, torch::Tensor other, double eps);
"""

ext = load_inline(
    name="linear_row_norm_tail",
    cpp_sources=cpp_source,
    cuda_sources=source,
    functions=["norm_add_multiply"],
    verbose=False,
)


class ModelNew(nn.Module):
    def __init__(self, in_features: int, out_features: int, eps: float = 1e-5, momentum: float = 0.1):
        super().__init__()
        self.bmm = nn.Linear(in_features, out_features)
        self.instance_norm = nn.InstanceNorm2d(out_features, eps=eps, momentum=momentum)

    def forward(self, x, y):
        return ext.norm_add_multiply(self.bmm(x), y, self.instance_norm.eps)
