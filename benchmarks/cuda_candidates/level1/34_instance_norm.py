import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

instance_norm_source = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>
#include <c10/cuda/CUDAStream.h>

__device__ __forceinline__ float warp_sum(float value) {
    #pragma unroll
    for (int offset = 16; offset > 0; offset >>= 1) value += __shfl_xor_sync(0xffffffff, value, offset);
    return value;
}

// Sum over the block, in every thread.
__device__ float block_sum(float value) {
    __shared__ float partial[32];
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, warps = blockDim.x >> 5;
    value = warp_sum(value);
    __syncthreads();
    if (lane == 0) partial[warp] = value;
    __syncthreads();
    return warp_sum(lane < warps ? partial[lane] : 0.0f);
}

// One block per plane. Two passes for the statistics: mean first, then squared distances from it.
__global__ void instance_norm_kernel(const float* __restrict__ x, float* __restrict__ y, int64_t pixels, float eps) {
    const int64_t start = (int64_t)blockIdx.x * pixels;
    float sum = 0.0f;
    for (int64_t i = threadIdx.x; i < pixels; i += blockDim.x) sum += x[start + i];
    const float mean = block_sum(sum) / pixels;
    float squares = 0.0f;
    for (int64_t i = threadIdx.x; i < pixels; i += blockDim.x) {
        const float d = x[start + i] - mean;
        squares += d * d;
    }
    const float variance = block_sum(squares) / pixels;
    const float invstd = 1.0f / sqrtf(variance + eps);
    for (int64_t i = threadIdx.x; i < pixels; i += blockDim.x) y[start + i] = (x[start + i] - mean) * invstd;
}

torch::Tensor instance_norm_cuda(torch::Tensor x, double eps) {
    TORCH_CHECK(x.is_cuda(), "x must be a CUDA tensor");
    TORCH_CHECK(x.dim() == 4, "x must be (N, C, H, W)");
    auto input = x.contiguous();
    auto output = torch::empty_like(input);
    const int64_t planes = input.size(0) * input.size(1);
    const int64_t pixels = input.size(2) * input.size(3);
    const int threads = pixels >= 1024 ? 1024 : 256;
    instance_norm_kernel<<<planes, threads, 0, at::cuda::getCurrentCUDAStream()>>>(
        input.data_ptr<float>(), output.data_ptr<float>(), pixels, (float)eps);
    return output;
}
"""

instance_norm = load_inline(
    name="instance_norm",
    cpp_sources="torch::Tensor instance_norm_cuda(torch::Tensor x, double eps);",
    cuda_sources=instance_norm_source,
    functions=["instance_norm_cuda"],
    extra_cuda_cflags=["-O3"],
    verbose=False,
)


class ModelNew(nn.Module):
    def __init__(self, num_features: int):
        super().__init__()
        self.inorm = nn.InstanceNorm2d(num_features)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return instance_norm.instance_norm_cuda(x, self.inorm.eps)
