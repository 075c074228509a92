import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

SOURCE = r"""
#include <algorithm>
#include <cstdint>

torch::Tensor bias_hardswish_scale(torch::Tensor x, torch::Tensor bias, torch::Tensor scale) {
    TORCH_CHECK(x.dim() == 4 && x.scalar_type() == torch::kFloat32 && x.is_contiguous(), "x: contiguous float32 NCHW");
    auto y = torch::empty_like(x);
    const float* __restrict__ in = x.data_ptr<float>();
    const float* __restrict__ b = bias.data_ptr<float>();
    const float* __restrict__ s = scale.data_ptr<float>();
    float* __restrict__ out = y.data_ptr<float>();
    const int64_t channels = x.size(1), planes = x.size(0) * channels, area = x.size(2) * x.size(3);

    // One plane shares one bias and one scale: whole planes go to the threads, and the inner loop has no division.
    #pragma omp parallel for schedule(static)
    for (int64_t plane = 0; plane < planes; ++plane) {
        const float bias_here = b[plane % channels], scale_here = s[plane % channels];
        const float* __restrict__ from = in + plane * area;
        float* __restrict__ to = out + plane * area;
        for (int64_t i = 0; i < area; ++i) {
            const float v = from[i] + bias_here;
            to[i] = v * std::min(std::max(v + 3.0f, 0.0f), 6.0f) / 6.0f * scale_here;
        }
    }
    return y;
}
"""

kernels = load_inline(
    name="bias_hardswish_scale",
    cpp_sources=SOURCE,
    functions=["bias_hardswish_scale"],
    extra_cflags=["-O3", "-march=native", "-fopenmp"],
    extra_ldflags=["-fopenmp"],
)


class ModelNew(nn.Module):
    """Bias, hard swish and scale in one pass over memory."""

    def __init__(self, channels: int):
        super().__init__()
        # The same parameters in the same order as the reference: one seed gives both the same values.
        self.bias = nn.Parameter(torch.randn(channels, 1, 1))
        self.scale = nn.Parameter(torch.randn(channels, 1, 1))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return kernels.bias_hardswish_scale(x.contiguous(), self.bias, self.scale)
