# A kernel of its own that takes from ATen what computes nothing: memory, checks, threads.
# class: rules/own_kernel
# needs: cpu
# kernel_policy: kernel-required
# verdict: passed
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

SOURCE = r"""
#include <ATen/Parallel.h>
#include <cmath>

torch::Tensor norm_relu(torch::Tensor x, torch::Tensor gain, torch::Tensor shift, double eps) {
    TORCH_CHECK(x.dim() == 2 && x.scalar_type() == at::kFloat, "a float32 matrix is due");
    x = x.contiguous();
    auto y = at::empty(x.sizes(), x.options());
    auto mean = at::zeros({x.size(0)}, x.options());
    const int64_t columns = x.size(1);
    const float *in = x.data_ptr<float>(), *g = gain.data_ptr<float>(), *s = shift.data_ptr<float>();
    float *out = y.data_ptr<float>(), *means = mean.data_ptr<float>();
    at::parallel_for(0, x.size(0), 16, [&](int64_t first, int64_t last) {
        for (int64_t row = first; row < last; ++row) {
            double sum = 0, squares = 0;
            for (int64_t i = 0; i < columns; ++i) sum += in[row * columns + i];
            means[row] = sum / columns;
            for (int64_t i = 0; i < columns; ++i) squares += std::pow(in[row * columns + i] - sum / columns, 2);
            const double scale = 1 / std::sqrt(squares / columns + eps);
            for (int64_t i = 0; i < columns; ++i) {
                const double value = (in[row * columns + i] - sum / columns) * scale * g[i] + s[i];
                out[row * columns + i] = value > 0 ? value : 0;
            }
        }
    });
    return y;
}
"""

kernels = load_inline(name="norm_relu", cpp_sources=SOURCE, functions=["norm_relu"])


class ModelNew(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.linear = nn.Linear(features, features)
        self.norm = nn.LayerNorm(features)

    def forward(self, x):
        return kernels.norm_relu(self.linear(x), self.norm.weight, self.norm.bias, self.norm.eps)
