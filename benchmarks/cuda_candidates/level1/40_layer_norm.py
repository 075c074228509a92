import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

layer_norm_source = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAStream.h>

constexpr int kThreads = 256;

__device__ __forceinline__ double warp_sum(double v) {
    for (int offset = 16; offset > 0; offset /= 2) v += __shfl_down_sync(0xffffffff, v, offset);
    return v;
}

// Grid (pieces, rows). There are few rows and each is long, so many blocks share one.
__global__ void layer_norm_partial(const float* __restrict__ x, double2* __restrict__ partial, int64_t size) {
    __shared__ double sums[kThreads / 32], squares[kThreads / 32];
    const float* row = x + (int64_t)blockIdx.y * size;
    double s = 0.0, q = 0.0;
    const int64_t step = (int64_t)gridDim.x * kThreads;
    for (int64_t i = (int64_t)blockIdx.x * kThreads + threadIdx.x; i < size; i += step) {
        const double v = row[i];
        s += v;
        q += v * v;
    }
    s = warp_sum(s);
    q = warp_sum(q);
    if (threadIdx.x % 32 == 0) {
        sums[threadIdx.x / 32] = s;
        squares[threadIdx.x / 32] = q;
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int w = 1; w < kThreads / 32; ++w) {
            s += sums[w];
            q += squares[w];
        }
        partial[(int64_t)blockIdx.y * gridDim.x + blockIdx.x] = make_double2(s, q);
    }
}

// One block per row turns the partial sums into mean and 1 / standard deviation.
__global__ void layer_norm_finish(const double2* __restrict__ partial, float2* __restrict__ stats, int pieces,
                                  int64_t size, double eps) {
    double s = 0.0, q = 0.0;
    for (int i = threadIdx.x; i < pieces; i += 32) {
        const double2 part = partial[(int64_t)blockIdx.x * pieces + i];
        s += part.x;
        q += part.y;
    }
    s = warp_sum(s);
    q = warp_sum(q);
    if (threadIdx.x == 0) {
        const double mean = s / size;
        const double variance = fmax(q / size - mean * mean, 0.0);
        stats[blockIdx.x] = make_float2((float)mean, (float)(1.0 / sqrt(variance + eps)));
    }
}

__global__ void layer_norm_apply(const float* __restrict__ x, float* __restrict__ y, const float2* __restrict__ stats,
                                 const float* __restrict__ weight, const float* __restrict__ bias, int64_t size) {
    const float2 stat = stats[blockIdx.y];
    const int64_t start = (int64_t)blockIdx.y * size;
    const int64_t step = (int64_t)gridDim.x * kThreads;
    for (int64_t i = (int64_t)blockIdx.x * kThreads + threadIdx.x; i < size; i += step) {
        y[start + i] = (x[start + i] - stat.x) * stat.y * weight[i] + bias[i];
    }
}

torch::Tensor layer_norm_cuda(torch::Tensor x, torch::Tensor weight, torch::Tensor bias, double eps) {
    TORCH_CHECK(x.is_cuda() && weight.is_contiguous() && bias.is_contiguous());
    x = x.contiguous();
    const int64_t size = weight.numel();
    const int64_t rows = x.numel() / size;
    TORCH_CHECK(rows <= 65535 && rows * size == x.numel(), "shapes do not fit");
    const int pieces = (int)std::min<int64_t>((size + 4 * kThreads - 1) / (4 * kThreads), 256);
    auto y = torch::empty_like(x);
    auto partial = torch::empty({rows, pieces, 2}, x.options().dtype(torch::kDouble));
    auto stats = torch::empty({rows, 2}, x.options());
    auto* partial_ptr = reinterpret_cast<double2*>(partial.data_ptr<double>());
    auto* stats_ptr = reinterpret_cast<float2*>(stats.data_ptr<float>());
    auto stream = at::cuda::getCurrentCUDAStream();
    layer_norm_partial<<<dim3(pieces, rows), kThreads, 0, stream>>>(x.data_ptr<float>(), partial_ptr, size);
    layer_norm_finish<<<rows, 32, 0, stream>>>(partial_ptr, stats_ptr, pieces, size, eps);
    layer_norm_apply<<<dim3(pieces, rows), kThreads, 0, stream>>>(
        x.data_ptr<float>(), y.data_ptr<float>(), stats_ptr, weight.data_ptr<float>(), bias.data_ptr<float>(), size);
    C10_CUDA_KERNEL_LAUNCH_CHECK();
    return y;
}
"""

layer_norm = load_inline(
    name="layer_norm",
    cpp_sources="torch::Tensor layer_norm_cuda(torch::Tensor x, torch::Tensor weight, torch::Tensor bias, double eps);",
    cuda_sources=layer_norm_source,
    functions=["layer_norm_cuda"],
    extra_cuda_cflags=["-O3"],
)


class ModelNew(nn.Module):
    def __init__(self, normalized_shape: tuple):
        super().__init__()
        self.ln = nn.LayerNorm(normalized_shape=normalized_shape)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return layer_norm.layer_norm_cuda(x, self.ln.weight, self.ln.bias, self.ln.eps)
