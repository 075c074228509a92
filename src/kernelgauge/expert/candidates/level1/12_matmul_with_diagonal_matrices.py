"""A diagonal matrix times a dense one: the diagonal scales the rows.

Bound by memory: the dense matrix is read once and written once. A block scales 4,096 values of one row, four 16-byte
loads a thread before the first store. What is read is not read again, so it may leave the cache first.

In CUDA C++ for the sake of its launch: on an H200 the kernel alone takes as long in Triton, and a call 0.064 ms
instead of 0.038.

Tried on one NVIDIA H200, without gain: loads that do not stream: no difference, and under v0.1 22 % more time; stores
that stream: no difference; blocks of 2,048: 5 % more time; in Triton: 90 % more time.
"""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

CUDA = r"""
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

constexpr int THREADS = 256, EACH = 4;

__device__ float scaled(float x, float by) { return x * by; }
__device__ float4 scaled(float4 x, float by) { return make_float4(x.x * by, x.y * by, x.z * by, x.w * by); }

// x and y: rows of `columns` values (float) or quadruples (float4). Rows lie along the grid's long dimension.
template <typename Value>
__global__ void scale_rows(const float* __restrict__ diagonal, const Value* __restrict__ x, Value* __restrict__ y,
                           int columns) {
    const long long start = static_cast<long long>(blockIdx.x) * columns;
    const int first = blockIdx.y * THREADS * EACH + threadIdx.x;
    const float by = diagonal[blockIdx.x];
    Value read[EACH];
#pragma unroll
    for (int i = 0; i < EACH; ++i)
        if (first + i * THREADS < columns) read[i] = __ldcs(x + start + first + i * THREADS);
#pragma unroll
    for (int i = 0; i < EACH; ++i)
        if (first + i * THREADS < columns) y[start + first + i * THREADS] = scaled(read[i], by);
}

template <typename Value>
void launch(const torch::Tensor& diagonal, const torch::Tensor& x, torch::Tensor& y, int columns) {
    const dim3 grid(static_cast<unsigned>(x.size(0)), (columns + THREADS * EACH - 1) / (THREADS * EACH));
    scale_rows<Value><<<grid, THREADS, 0, c10::cuda::getCurrentCUDAStream()>>>(
        diagonal.data_ptr<float>(), reinterpret_cast<const Value*>(x.data_ptr<float>()),
        reinterpret_cast<Value*>(y.data_ptr<float>()), columns);
    C10_CUDA_KERNEL_LAUNCH_CHECK();
}

torch::Tensor rows_scaled(torch::Tensor diagonal, torch::Tensor x) {
    TORCH_CHECK(x.is_cuda() && x.scalar_type() == torch::kFloat32 && x.dim() == 2 && x.is_contiguous(),
                "x: a contiguous CUDA matrix of float32");
    TORCH_CHECK(diagonal.is_cuda() && diagonal.scalar_type() == torch::kFloat32 && diagonal.is_contiguous() &&
                diagonal.numel() == x.size(0), "diagonal: a contiguous CUDA float32 for each row");
    const c10::cuda::CUDAGuard guard(x.device());
    auto y = torch::empty_like(x);
    const int columns = static_cast<int>(x.size(1));
    const bool aligned = reinterpret_cast<std::uintptr_t>(x.data_ptr<float>()) % 16 == 0;
    if (x.numel() == 0) return y;
    if (aligned && columns % 4 == 0)
        launch<float4>(diagonal, x, y, columns / 4);
    else
        launch<float>(diagonal, x, y, columns);
    return y;
}
"""

kernels = load_inline(
    name="rows_scaled",
    cpp_sources="torch::Tensor rows_scaled(torch::Tensor diagonal, torch::Tensor x);",
    cuda_sources=CUDA,
    functions=["rows_scaled"],
    extra_cuda_cflags=["-O3"],
)


class ModelNew(nn.Module):
    def forward(self, A: torch.Tensor, B: torch.Tensor) -> torch.Tensor:
        return kernels.rows_scaled(A.contiguous(), B.contiguous())
