import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

SOURCE = r"""
#include <cmath>
#include <cstdint>

torch::Tensor bias_gelu(torch::Tensor x, torch::Tensor bias) {
    TORCH_CHECK(x.scalar_type() == torch::kFloat32 && x.is_contiguous(), "x: contiguous float32");
    auto y = torch::empty_like(x);
    const int64_t features = x.size(-1), rows = features ? x.numel() / features : 0;
    const float* __restrict__ in = x.data_ptr<float>();
    const float* __restrict__ b = bias.data_ptr<float>();
    float* __restrict__ out = y.data_ptr<float>();

    // Whole rows go to the threads, so that the inner loop has no division; each element is read and written once.
    #pragma omp parallel for schedule(static)
    for (int64_t row = 0; row < rows; ++row)
        for (int64_t i = 0; i < features; ++i) {
            const float v = in[row * features + i] + b[i];
            // 0.5 * (1 + tanh(u)) is 1 / (1 + exp(-2u)), where nothing cancels.
            const float u = 0.7978845608028654f * (v + 0.044715f * v * v * v);
            out[row * features + i] = v / (1.0f + std::exp(-2.0f * u));
        }
    return y;
}
"""

kernels = load_inline(
    name="bias_gelu",
    cpp_sources=SOURCE,
    functions=["bias_gelu"],
    extra_cflags=["-O3", "-march=native", "-fopenmp"],
    extra_ldflags=["-fopenmp"],
)


class ModelNew(nn.Module):
    """Bias and GELU in one pass over memory."""

    def __init__(self, features: int):
        super().__init__()
        self.bias = nn.Parameter(torch.zeros(features))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return kernels.bias_gelu(x.contiguous(), self.bias)
