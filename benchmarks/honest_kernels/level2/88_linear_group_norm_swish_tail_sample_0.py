# Library product; one thread a group computes its statistics, a second kernel applies them.
# style: library several_launches naive
# expect: about
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>

__global__ void group_stats_kernel(const float* x, float* mean, float* rstd, int64_t total, int size, float eps) {
    int64_t g = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (g >= total) return;
    const float* p = x + g * size;
    float m = 0.0f;
    for (int i = 0; i < size; i++) m += p[i];
    m /= size;
    float v = 0.0f;
    for (int i = 0; i < size; i++) v += (p[i] - m) * (p[i] - m);
    mean[g] = m;
    rstd[g] = rsqrtf(v / size + eps);
}

__global__ void group_apply_kernel(const float* x, const float* mean, const float* rstd, const float* gamma,
                                   const float* beta, const float* weight, float* y, int64_t n, int columns, int size) {
    int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int c = i % columns;
    int64_t g = i / size;
    float v = (x[i] - mean[g]) * rstd[g] * gamma[c] + beta[c];
    v = v / (1.0f + expf(-v));
    v = v * weight[c];
    y[i] = v / (1.0f + expf(-v));
}

torch::Tensor group_norm_swish(torch::Tensor x, torch::Tensor gamma, torch::Tensor beta, torch::Tensor weight,
                               int64_t groups, double eps) {
    x = x.contiguous();
    auto y = torch::empty_like(x);
    int64_t rows = x.size(0), columns = x.size(1), size = columns / groups;
    auto mean = torch::empty({rows, groups}, x.options());
    auto rstd = torch::empty({rows, groups}, x.options());
    group_stats_kernel<<<(rows * groups + 127) / 128, 128>>>(x.data_ptr<float>(), mean.data_ptr<float>(),
                                                             rstd.data_ptr<float>(), rows * groups, size, eps);
    group_apply_kernel<<<(x.numel() + 255) / 256, 256>>>(
        x.data_ptr<float>(), mean.data_ptr<float>(), rstd.data_ptr<float>(), gamma.data_ptr<float>(),
        beta.data_ptr<float>(), weight.data_ptr<float>(), y.data_ptr<float>(), x.numel(), columns, size);
    return y;
}
"""

cpp_source = """
torch::Tensor group_norm_swish(torch::Tensor x, torch::Tensor gamma, torch::Tensor beta, torch::Tensor weight,
                               int64_t groups, double eps);
"""

ext = load_inline(
    name="linear_group_norm_swish_tail",
    cpp_sources=cpp_source,
    cuda_sources=source,
    functions=["group_norm_swish"],
    verbose=False,
)


class ModelNew(nn.Module):
    def __init__(self, in_features: int, out_features: int, num_groups: int, multiply_weight_shape: tuple):
        super().__init__()
        self.gemm = nn.Linear(in_features, out_features)
        self.group_norm = nn.GroupNorm(num_groups, out_features)
        self.multiply_weight = nn.Parameter(torch.randn(multiply_weight_shape))

    def forward(self, x):
        x = self.gemm(x)
        norm = self.group_norm
        return ext.group_norm_swish(x, norm.weight, norm.bias, self.multiply_weight, norm.num_groups, norm.eps)
