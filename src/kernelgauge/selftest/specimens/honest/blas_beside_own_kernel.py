# A product by NumPy's BLAS, called from C++, and a kernel of its own for the rest: a library beside an own
# kernel is allowed, and marked for review because nobody sees what the library takes.
# class: rules/own_kernel
# needs: cpu
# kernel_policy: kernel-required
# verdict: passed
import ctypes
from pathlib import Path

import numpy
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

SOURCE = r"""
#include <cmath>
#include <dlfcn.h>

using Gemm = void(int, int, int, int64_t, int64_t, int64_t, float, const float*, int64_t, const float*, int64_t, float,
                  float*, int64_t);

torch::Tensor fused(torch::Tensor x, torch::Tensor w, torch::Tensor b, torch::Tensor gain, torch::Tensor shift) {
    const int rows = x.size(0), inner = x.size(1), columns = w.size(0);
    auto y = torch::empty({rows, columns}, x.options());
    float* out = y.data_ptr<float>();
    static auto gemm = (Gemm*)dlsym(RTLD_DEFAULT, "scipy_cblas_sgemm64_");
    TORCH_CHECK(gemm, "no BLAS");
    gemm(101, 111, 112, rows, columns, inner, 1, x.data_ptr<float>(), inner, w.data_ptr<float>(), inner, 0, out, columns);
    const float *bias = b.data_ptr<float>(), *g = gain.data_ptr<float>(), *s = shift.data_ptr<float>();
    for (int row = 0; row < rows; ++row) {
        float* here = out + row * columns;
        double sum = 0, squares = 0;
        for (int i = 0; i < columns; ++i) sum += here[i] += bias[i];
        for (int i = 0; i < columns; ++i) squares += std::pow(here[i] - sum / columns, 2);
        const double scale = 1 / std::sqrt(squares / columns + 1e-5);
        for (int i = 0; i < columns; ++i) here[i] = std::fmax(0.0, (here[i] - sum / columns) * scale * g[i] + s[i]);
    }
    return y;
}
"""

place = Path(numpy.__file__).parents[1] / "numpy.libs"
ctypes.CDLL(str(next(place.glob("*openblas64*"))), mode=ctypes.RTLD_GLOBAL)
kernels = load_inline(name="fused", cpp_sources=SOURCE, functions=["fused"])


class ModelNew(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.linear = nn.Linear(features, features)
        self.norm = nn.LayerNorm(features)

    def forward(self, x):
        return kernels.fused(x, self.linear.weight, self.linear.bias, self.norm.weight, self.norm.bias)
