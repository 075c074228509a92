# One block of 1024 a sample, as for short rows: sixteen blocks with four million elements each.
# style: shared
# expect: slower
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

ln_source = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>

__global__ void layer_norm_kernel(const float* x, const float* gamma, const float* beta, float* y, int n, float eps) {
    extern __shared__ float smem[];
    const int tid = threadIdx.x, threads = blockDim.x;
    const float* in = x + (int64_t)blockIdx.x * n;
    float* out = y + (int64_t)blockIdx.x * n;

    float acc = 0.f;
    for (int i = tid; i < n; i += threads) acc += in[i];
    smem[tid] = acc;
    __syncthreads();
    for (int s = threads / 2; s > 0; s >>= 1) {
        if (tid < s) smem[tid] += smem[tid + s];
        __syncthreads();
    }
    const float mean = smem[0] / n;
    __syncthreads();

    acc = 0.f;
    for (int i = tid; i < n; i += threads) {
        const float d = in[i] - mean;
        acc += d * d;
    }
    smem[tid] = acc;
    __syncthreads();
    for (int s = threads / 2; s > 0; s >>= 1) {
        if (tid < s) smem[tid] += smem[tid + s];
        __syncthreads();
    }
    const float inv_std = rsqrtf(smem[0] / n + eps);

    for (int i = tid; i < n; i += threads) out[i] = (in[i] - mean) * inv_std * gamma[i] + beta[i];
}

torch::Tensor layer_norm_cuda(torch::Tensor x, torch::Tensor gamma, torch::Tensor beta, double eps) {
    auto y = torch::empty_like(x);
    const int n = gamma.numel();
    const int rows = x.numel() / n;
    layer_norm_kernel<<<rows, 1024, 1024 * sizeof(float)>>>(
        x.data_ptr<float>(), gamma.data_ptr<float>(), beta.data_ptr<float>(), y.data_ptr<float>(), n, (float)eps);
    return y;
}
"""

ln = load_inline(
    name="layer_norm_block",
    cpp_sources="""
torch::Tensor layer_norm_cuda(torch::Tensor x, torch::Tensor gamma, torch::Tensor beta, double eps);
""",
    cuda_sources=ln_source,
    functions=["layer_norm_cuda"],
)


class ModelNew(nn.Module):
    def __init__(self, normalized_shape: tuple):
        super().__init__()
        self.ln = nn.LayerNorm(normalized_shape=normalized_shape)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return ln.layer_norm_cuda(x.contiguous(), self.ln.weight, self.ln.bias, self.ln.eps)
