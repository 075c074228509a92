import math

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

CUDA = r"""
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <cmath>

constexpr int FEATURES = 64;
constexpr int KEYS = 32;      // of so many keys at a time the scores exist
constexpr int THREADS = 128;  // one query a thread

// A thread keeps its query, its sum of values, the largest score so far and the sum of exponentials. When a tile of
// keys brings a larger score, what is summed up is scaled down to it: no second pass is needed, and the matrix of
// scores is never in memory.
__global__ void attention_kernel(const float* __restrict__ q, const float* __restrict__ k, const float* __restrict__ v,
                                 float* __restrict__ out, int length, float scale) {
    __shared__ float tile_k[KEYS][FEATURES];
    __shared__ float tile_v[KEYS][FEATURES];
    const long long head = static_cast<long long>(blockIdx.y) * length * FEATURES;
    const int query = blockIdx.x * THREADS + threadIdx.x;
    float mine[FEATURES], sums[FEATURES] = {};
    float largest = -INFINITY, total = 0.0f;
    for (int d = 0; d < FEATURES; ++d) mine[d] = query < length ? q[head + query * FEATURES + d] * scale : 0.0f;

    for (int start = 0; start < length; start += KEYS) {
        const int keys = min(KEYS, length - start);
        for (int i = threadIdx.x; i < keys * FEATURES; i += THREADS) {
            tile_k[i / FEATURES][i % FEATURES] = k[head + start * FEATURES + i];
            tile_v[i / FEATURES][i % FEATURES] = v[head + start * FEATURES + i];
        }
        __syncthreads();
        float scores[KEYS];
        float here = largest;
        for (int j = 0; j < keys; ++j) {
            float score = 0.0f;
            for (int d = 0; d < FEATURES; ++d) score = fmaf(mine[d], tile_k[j][d], score);
            scores[j] = score;
            here = fmaxf(here, score);
        }
        const float down = expf(largest - here);  // 0 in the first tile, where `largest` is minus infinity
        largest = here;
        total *= down;
        for (int d = 0; d < FEATURES; ++d) sums[d] *= down;
        for (int j = 0; j < keys; ++j) {
            const float weight = expf(scores[j] - largest);
            total += weight;
            for (int d = 0; d < FEATURES; ++d) sums[d] = fmaf(weight, tile_v[j][d], sums[d]);
        }
        __syncthreads();  // all have used the tiles before they are filled anew
    }
    if (query < length)
        for (int d = 0; d < FEATURES; ++d) out[head + query * FEATURES + d] = sums[d] / total;
}

torch::Tensor attention(torch::Tensor q, torch::Tensor k, torch::Tensor v, double scale) {
    TORCH_CHECK(q.is_cuda() && q.dim() == 4 && q.size(3) == FEATURES, "q: CUDA, 64 features a head");
    TORCH_CHECK(q.sizes() == k.sizes() && q.sizes() == v.sizes(), "q, k and v: one shape");
    TORCH_CHECK(q.scalar_type() == torch::kFloat32, "float32");
    const c10::cuda::CUDAGuard guard(q.device());
    auto out = torch::empty_like(q);
    const int length = q.size(2);
    const dim3 grid((length + THREADS - 1) / THREADS, q.size(0) * q.size(1));
    attention_kernel<<<grid, THREADS, 0, c10::cuda::getCurrentCUDAStream()>>>(
        q.data_ptr<float>(), k.data_ptr<float>(), v.data_ptr<float>(), out.data_ptr<float>(), length,
        static_cast<float>(scale));
    C10_CUDA_KERNEL_LAUNCH_CHECK();
    return out;
}
"""

kernels = load_inline(
    name="tiled_attention",
    cpp_sources="torch::Tensor attention(torch::Tensor q, torch::Tensor k, torch::Tensor v, double scale);",
    cuda_sources=CUDA,
    functions=["attention"],
    extra_cuda_cflags=["-O3"],
)


class ModelNew(nn.Module):
    """Attention in one kernel, with the softmax computed as the keys come."""

    def forward(self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        return kernels.attention(q.contiguous(), k.contiguous(), v.contiguous(), 1.0 / math.sqrt(q.shape[-1]))
