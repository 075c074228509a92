# Welford's updates in every thread, merged by a tree in shared memory; a second kernel normalises.
# style: shared, one_pass, several_launches
# expect: slower
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

group_norm_source = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>

#define THREADS 256

__global__ void gn_stats(const float* x, float* means, float* rstds, int64_t group_size, float eps) {
    __shared__ float s_mean[THREADS], s_m2[THREADS], s_n[THREADS];
    const float* g = x + blockIdx.x * group_size;
    float mean = 0.f, m2 = 0.f, n = 0.f;
    for (int64_t i = threadIdx.x; i < group_size; i += THREADS) {
        const float v = g[i];
        n += 1.f;
        const float delta = v - mean;
        mean += delta / n;
        m2 += delta * (v - mean);
    }
    s_mean[threadIdx.x] = mean;
    s_m2[threadIdx.x] = m2;
    s_n[threadIdx.x] = n;
    __syncthreads();
    for (int s = THREADS / 2; s > 0; s >>= 1) {
        if (threadIdx.x < s) {
            const float na = s_n[threadIdx.x], nb = s_n[threadIdx.x + s], total = na + nb;
            if (total > 0.f) {
                const float delta = s_mean[threadIdx.x + s] - s_mean[threadIdx.x];
                s_mean[threadIdx.x] += delta * nb / total;
                s_m2[threadIdx.x] += s_m2[threadIdx.x + s] + delta * delta * na * nb / total;
            }
            s_n[threadIdx.x] = total;
        }
        __syncthreads();
    }
    if (threadIdx.x == 0) {
        means[blockIdx.x] = s_mean[0];
        rstds[blockIdx.x] = rsqrtf(s_m2[0] / s_n[0] + eps);
    }
}

__global__ void gn_apply(const float* x, const float* means, const float* rstds, const float* weight,
                         const float* bias, float* y, int channels, int groups, int64_t pixels, int64_t total) {
    const int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= total) return;
    const int64_t plane = i / pixels;
    const int c = plane % channels;
    const int64_t g = plane / (channels / groups);
    y[i] = (x[i] - means[g]) * rstds[g] * weight[c] + bias[c];
}

torch::Tensor group_norm_cuda(torch::Tensor x, torch::Tensor weight, torch::Tensor bias, int64_t groups, double eps) {
    const int64_t n = x.size(0), c = x.size(1), pixels = x.numel() / (n * c);
    auto means = torch::empty({n * groups}, x.options());
    auto rstds = torch::empty({n * groups}, x.options());
    auto y = torch::empty_like(x);
    gn_stats<<<n * groups, THREADS>>>(
        x.data_ptr<float>(), means.data_ptr<float>(), rstds.data_ptr<float>(), pixels * (c / groups), eps);
    const int64_t total = x.numel();
    gn_apply<<<(total + 255) / 256, 256>>>(
        x.data_ptr<float>(), means.data_ptr<float>(), rstds.data_ptr<float>(), weight.data_ptr<float>(),
        bias.data_ptr<float>(), y.data_ptr<float>(), c, groups, pixels, total);
    return y;
}
"""

group_norm_cpp = """
torch::Tensor group_norm_cuda(torch::Tensor x, torch::Tensor weight, torch::Tensor bias, int64_t groups, double eps);
"""

gn = load_inline(
    name="gn_welford",
    cpp_sources=group_norm_cpp,
    cuda_sources=group_norm_source,
    functions=["group_norm_cuda"],
    verbose=False,
)


class ModelNew(nn.Module):
    def __init__(self, num_features: int, num_groups: int):
        super().__init__()
        self.gn = nn.GroupNorm(num_groups, num_features)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        g = self.gn
        return gn.group_norm_cuda(x.contiguous(), g.weight, g.bias, g.num_groups, g.eps)
