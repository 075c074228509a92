import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

l2_norm_source = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAStream.h>

template <int kThreads>
__global__ void __launch_bounds__(kThreads) l2_norm_kernel(const float* __restrict__ x, float* __restrict__ y,
                                                           int64_t dim) {
    __shared__ float warp_total[kThreads / 32];
    __shared__ float norm;
    const float* row = x + blockIdx.x * dim;
    float* out = y + blockIdx.x * dim;

    // Four accumulators: independent additions, and shorter sums.
    float acc0 = 0.0f, acc1 = 0.0f, acc2 = 0.0f, acc3 = 0.0f;
    int64_t i = threadIdx.x;
    for (; i + 3 * kThreads < dim; i += 4 * kThreads) {
        const float a = row[i], b = row[i + kThreads], c = row[i + 2 * kThreads], d = row[i + 3 * kThreads];
        acc0 = fmaf(a, a, acc0);
        acc1 = fmaf(b, b, acc1);
        acc2 = fmaf(c, c, acc2);
        acc3 = fmaf(d, d, acc3);
    }
    for (; i < dim; i += kThreads) acc0 = fmaf(row[i], row[i], acc0);

    float total = (acc0 + acc1) + (acc2 + acc3);
    for (int mask = 16; mask > 0; mask >>= 1) total += __shfl_xor_sync(0xffffffff, total, mask);
    if (threadIdx.x % 32 == 0) warp_total[threadIdx.x / 32] = total;
    __syncthreads();
    if (threadIdx.x < 32) {
        total = threadIdx.x < kThreads / 32 ? warp_total[threadIdx.x] : 0.0f;
        for (int mask = 16; mask > 0; mask >>= 1) total += __shfl_xor_sync(0xffffffff, total, mask);
        if (threadIdx.x == 0) norm = sqrtf(total);
    }
    __syncthreads();
    const float divisor = norm;
    for (int64_t j = threadIdx.x; j < dim; j += kThreads) out[j] = row[j] / divisor;
}

torch::Tensor l2_norm_cuda(torch::Tensor x) {
    TORCH_CHECK(x.is_cuda() && x.dim() == 2, "x must be a CUDA matrix");
    const auto input = x.contiguous();
    auto output = torch::empty_like(input);
    l2_norm_kernel<512><<<input.size(0), 512, 0, at::cuda::getCurrentCUDAStream()>>>(
        input.data_ptr<float>(), output.data_ptr<float>(), input.size(1));
    C10_CUDA_KERNEL_LAUNCH_CHECK();
    return output;
}
"""

l2_norm_ext = load_inline(
    name="l2_norm_ext",
    cpp_sources="torch::Tensor l2_norm_cuda(torch::Tensor x);",
    cuda_sources=l2_norm_source,
    functions=["l2_norm_cuda"],
    extra_cuda_cflags=["-O3"],
)


class ModelNew(nn.Module):
    """L2 normalisation of rows in one kernel."""

    def __init__(self):
        super().__init__()

    def forward(self, x):
        return l2_norm_ext.l2_norm_cuda(x)
