# Sum and sum of squares in one pass over many blocks with two float atomics a block; E[x^2] - E[x]^2.
# style: one_pass, atomics, several_launches
# expect: faster
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

src = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>

__global__ void ln_sums(const float* __restrict__ x, float* __restrict__ stats, int64_t n) {
    const float* row = x + blockIdx.y * n;
    float sum = 0.f, sq = 0.f;
    for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += (int64_t)gridDim.x * blockDim.x) {
        const float v = row[i];
        sum += v;
        sq = fmaf(v, v, sq);
    }
    __shared__ float s[256], q[256];
    s[threadIdx.x] = sum;
    q[threadIdx.x] = sq;
    __syncthreads();
    for (int k = 128; k > 0; k >>= 1) {
        if (threadIdx.x < k) {
            s[threadIdx.x] += s[threadIdx.x + k];
            q[threadIdx.x] += q[threadIdx.x + k];
        }
        __syncthreads();
    }
    if (threadIdx.x == 0) {
        atomicAdd(&stats[2 * blockIdx.y], s[0]);
        atomicAdd(&stats[2 * blockIdx.y + 1], q[0]);
    }
}

__global__ void ln_normalize(const float* __restrict__ x, const float* __restrict__ stats,
                             const float* __restrict__ gamma, const float* __restrict__ beta,
                             float* __restrict__ y, int64_t n, float eps) {
    const int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const float mean = stats[2 * blockIdx.y] / n;
    const float var = stats[2 * blockIdx.y + 1] / n - mean * mean;
    const int64_t at = blockIdx.y * n + i;
    y[at] = (x[at] - mean) * rsqrtf(fmaxf(var, 0.f) + eps) * gamma[i] + beta[i];
}

torch::Tensor layer_norm(torch::Tensor x, torch::Tensor gamma, torch::Tensor beta, double eps) {
    const int64_t n = gamma.numel();
    const int rows = x.numel() / n;
    auto y = torch::empty_like(x);
    auto stats = torch::zeros({rows, 2}, x.options());
    ln_sums<<<dim3(128, rows), 256>>>(x.data_ptr<float>(), stats.data_ptr<float>(), n);
    ln_normalize<<<dim3((n + 255) / 256, rows), 256>>>(
        x.data_ptr<float>(), stats.data_ptr<float>(), gamma.data_ptr<float>(), beta.data_ptr<float>(),
        y.data_ptr<float>(), n, eps);
    return y;
}
"""

ext = load_inline(
    name="layer_norm_atomics",
    cpp_sources="torch::Tensor layer_norm(torch::Tensor x, torch::Tensor gamma, torch::Tensor beta, double eps);",
    cuda_sources=src,
    functions=["layer_norm"],
)


class ModelNew(nn.Module):
    def __init__(self, normalized_shape: tuple):
        super().__init__()
        self.ln = nn.LayerNorm(normalized_shape=normalized_shape)

    def forward(self, x):
        return ext.layer_norm(x.contiguous(), self.ln.weight, self.ln.bias, self.ln.eps)
