# One cooperative launch: partial sums into a buffer, a barrier of the grid, every block adds them up and divides.
# style: cooperative, shuffle
# expect: faster
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = r"""
#include <torch/extension.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAStream.h>
#include <cooperative_groups.h>

namespace cg = cooperative_groups;

__global__ void frobenius_kernel(const float* x, float* y, float* partial, int64_t n) {
    cg::grid_group grid = cg::this_grid();
    __shared__ float warp_sums[8];
    const int64_t first = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    const int64_t step = (int64_t)gridDim.x * blockDim.x;
    float s = 0.f;
    for (int64_t i = first; i < n; i += step) s += x[i] * x[i];
    for (int o = 16; o > 0; o >>= 1) s += __shfl_down_sync(0xffffffff, s, o);
    if (threadIdx.x % 32 == 0) warp_sums[threadIdx.x / 32] = s;
    __syncthreads();
    if (threadIdx.x == 0) {
        float block = 0.f;
        for (int w = 0; w < 8; ++w) block += warp_sums[w];
        partial[blockIdx.x] = block;
    }
    grid.sync();
    // Every block adds the partial sums in the same order.
    s = 0.f;
    for (int i = threadIdx.x; i < gridDim.x; i += blockDim.x) s += partial[i];
    for (int o = 16; o > 0; o >>= 1) s += __shfl_down_sync(0xffffffff, s, o);
    if (threadIdx.x % 32 == 0) warp_sums[threadIdx.x / 32] = s;
    __syncthreads();
    float total = 0.f;
    for (int w = 0; w < 8; ++w) total += warp_sums[w];
    const float norm = sqrtf(total);
    for (int64_t i = first; i < n; i += step) y[i] = x[i] / norm;
}

torch::Tensor frobenius_cooperative(torch::Tensor input) {
    auto output = torch::empty_like(input);
    int device = 0, processors = 0, per_processor = 0;
    cudaGetDevice(&device);
    cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device);
    cudaOccupancyMaxActiveBlocksPerMultiprocessor(&per_processor, frobenius_kernel, 256, 0);
    const int blocks = processors * per_processor;
    auto buffer = torch::empty({blocks}, input.options());
    const float* x = input.data_ptr<float>();
    float* y = output.data_ptr<float>();
    float* partial = buffer.data_ptr<float>();
    int64_t n = input.numel();
    void* args[] = {&x, &y, &partial, &n};
    C10_CUDA_CHECK(cudaLaunchCooperativeKernel(
        (void*)frobenius_kernel, dim3(blocks), dim3(256), args, 0, c10::cuda::getCurrentCUDAStream()));
    return output;
}
"""

ext = load_inline(
    name="frobenius_cooperative",
    cpp_sources="torch::Tensor frobenius_cooperative(torch::Tensor input);",
    cuda_sources=source,
    functions=["frobenius_cooperative"],
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x):
        return ext.frobenius_cooperative(x.contiguous())
