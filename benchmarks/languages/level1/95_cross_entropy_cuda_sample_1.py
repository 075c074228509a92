import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

SOURCE = r"""
#include <torch/extension.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAStream.h>

constexpr int THREADS = 256;
constexpr int QUADS = 4;  // of a thread: 256 threads hold a row of 4096 classes in registers
constexpr int WARPS = THREADS / 32;

template <class Merge>
__device__ float over_block(float value, float* shared, Merge merge) {
    for (int offset = 16; offset > 0; offset /= 2) value = merge(value, __shfl_xor_sync(0xffffffff, value, offset));
    if (threadIdx.x % 32 == 0) shared[threadIdx.x / 32] = value;
    __syncthreads();
    value = shared[0];
    for (int w = 1; w < WARPS; ++w) value = merge(value, shared[w]);
    return value;
}

__global__ void __launch_bounds__(THREADS)
losses_kernel(const float* __restrict__ x, const int64_t* __restrict__ targets, float* __restrict__ losses) {
    __shared__ float largest_of[WARPS], total_of[WARPS];
    const int64_t row = blockIdx.x;
    const float* logits = x + row * THREADS * QUADS * 4;
    float4 v[QUADS];
    #pragma unroll
    for (int q = 0; q < QUADS; ++q) v[q] = __ldcs(reinterpret_cast<const float4*>(logits) + q * THREADS + threadIdx.x);
    float largest = -INFINITY;
    #pragma unroll
    for (int q = 0; q < QUADS; ++q) largest = fmaxf(largest, fmaxf(fmaxf(v[q].x, v[q].y), fmaxf(v[q].z, v[q].w)));
    largest = over_block(largest, largest_of, [](float a, float b) { return fmaxf(a, b); });
    float total = 0.0f;
    #pragma unroll
    for (int q = 0; q < QUADS; ++q) {
        total += (expf(v[q].x - largest) + expf(v[q].y - largest)) + (expf(v[q].z - largest) + expf(v[q].w - largest));
    }
    total = over_block(total, total_of, [](float a, float b) { return a + b; });
    if (threadIdx.x == 0) losses[row] = largest + logf(total) - logits[targets[row]];
}

// One block adds up all losses: a tenth of a thousandth of what was read.
__global__ void __launch_bounds__(1024) mean_kernel(const float* __restrict__ losses, float* __restrict__ out, int rows) {
    __shared__ double totals[32];
    double total = 0.0;
    for (int i = threadIdx.x; i < rows; i += 1024) total += losses[i];
    for (int offset = 16; offset > 0; offset /= 2) total += __shfl_xor_sync(0xffffffff, total, offset);
    if (threadIdx.x % 32 == 0) totals[threadIdx.x / 32] = total;
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int w = 1; w < 32; ++w) total += totals[w];
        *out = (float)(total / rows);
    }
}

torch::Tensor cross_entropy(torch::Tensor x, torch::Tensor targets) {
    TORCH_CHECK(x.is_cuda() && x.is_contiguous() && targets.is_contiguous(), "contiguous CUDA tensors are expected");
    TORCH_CHECK(x.dim() == 2 && x.size(1) == THREADS * QUADS * 4, "4096 classes are expected");
    auto losses = torch::empty({x.size(0)}, x.options());
    auto out = torch::empty({}, x.options());
    auto stream = at::cuda::getCurrentCUDAStream();
    losses_kernel<<<x.size(0), THREADS, 0, stream>>>(
        x.data_ptr<float>(), targets.data_ptr<int64_t>(), losses.data_ptr<float>());
    C10_CUDA_KERNEL_LAUNCH_CHECK();
    mean_kernel<<<1, 1024, 0, stream>>>(losses.data_ptr<float>(), out.data_ptr<float>(), (int)x.size(0));
    C10_CUDA_KERNEL_LAUNCH_CHECK();
    return out;
}
"""

kernels = load_inline(
    name="register_cross_entropy",
    cpp_sources="torch::Tensor cross_entropy(torch::Tensor x, torch::Tensor targets);",
    cuda_sources=SOURCE,
    functions=["cross_entropy"],
    extra_cuda_cflags=["-O3"],
)


class ModelNew(nn.Module):
    def forward(self, predictions: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        return kernels.cross_entropy(predictions.contiguous(), targets.contiguous())
