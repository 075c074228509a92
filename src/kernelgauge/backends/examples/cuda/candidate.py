import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

CUDA = r"""
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <cmath>

constexpr int THREADS = 256;

// Every thread gets the block's maximum or sum: shuffles within a warp, then one value a warp through shared memory.
template <typename Combine>
__device__ float over_block(float value, Combine combine) {
    __shared__ float partial[THREADS / 32];
    for (int offset = 16; offset > 0; offset /= 2) value = combine(value, __shfl_xor_sync(0xffffffffu, value, offset));
    __syncthreads();  // the previous use of `partial` is over
    if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = value;
    __syncthreads();
    value = partial[0];
    for (int warp = 1; warp < THREADS / 32; ++warp) value = combine(value, partial[warp]);
    return value;
}

// One block a row. The scaled row stays in shared memory, so that global memory is read once and written once;
// neighbouring threads take neighbouring columns, so that their accesses coalesce.
__global__ void scaled_softmax_kernel(const float* __restrict__ x, const float* __restrict__ scale,
                                      const float* __restrict__ bias, float* __restrict__ y, int columns) {
    extern __shared__ float row[];
    const long long start = static_cast<long long>(blockIdx.x) * columns;
    float largest = -INFINITY;
    for (int i = threadIdx.x; i < columns; i += THREADS) {
        row[i] = x[start + i] * scale[i] + bias[i];
        largest = fmaxf(largest, row[i]);
    }
    largest = over_block(largest, [](float a, float b) { return fmaxf(a, b); });
    float total = 0.0f;
    for (int i = threadIdx.x; i < columns; i += THREADS) {
        row[i] = expf(row[i] - largest);  // expf, not __expf: the fast one has several times the error
        total += row[i];
    }
    total = over_block(total, [](float a, float b) { return a + b; });
    for (int i = threadIdx.x; i < columns; i += THREADS) y[start + i] = row[i] / total;
}

torch::Tensor scaled_softmax(torch::Tensor x, torch::Tensor scale, torch::Tensor bias) {
    TORCH_CHECK(x.is_cuda() && x.scalar_type() == torch::kFloat32 && x.is_contiguous(), "x: contiguous CUDA float32");
    const int columns = x.size(-1);
    const size_t shared = columns * sizeof(float);
    TORCH_CHECK(shared <= 47 * 1024, "a row must fit into 47 KiB of shared memory");
    const c10::cuda::CUDAGuard guard(x.device());
    auto y = torch::empty_like(x);
    const int rows = x.numel() / columns;
    scaled_softmax_kernel<<<rows, THREADS, shared, c10::cuda::getCurrentCUDAStream()>>>(
        x.data_ptr<float>(), scale.data_ptr<float>(), bias.data_ptr<float>(), y.data_ptr<float>(), columns);
    C10_CUDA_KERNEL_LAUNCH_CHECK();
    return y;
}
"""

kernels = load_inline(
    name="scaled_softmax",
    cpp_sources="torch::Tensor scaled_softmax(torch::Tensor x, torch::Tensor scale, torch::Tensor bias);",
    cuda_sources=CUDA,
    functions=["scaled_softmax"],
    extra_cuda_cflags=["-O3"],
)


class ModelNew(nn.Module):
    """Scale, bias and softmax in one pass over global memory."""

    def __init__(self, features: int):
        super().__init__()
        # The same parameters in the same order as the reference: one seed gives both the same values.
        self.scale = nn.Parameter(torch.ones(features))
        self.bias = nn.Parameter(torch.zeros(features))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return kernels.scaled_softmax(x.contiguous(), self.scale, self.bias)
