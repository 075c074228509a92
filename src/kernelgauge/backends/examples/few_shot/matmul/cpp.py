import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

SOURCE = r"""
#include <algorithm>
#include <cstdint>

constexpr int64_t ROWS = 32, DEPTH = 128, COLUMNS = 256;  // the tile of b, 128 KiB, stays in the second cache

torch::Tensor matmul(torch::Tensor a, torch::Tensor b) {
    TORCH_CHECK(a.dim() == 2 && b.dim() == 2 && a.size(1) == b.size(0), "two matrices that fit");
    TORCH_CHECK(a.scalar_type() == torch::kFloat32 && b.scalar_type() == torch::kFloat32, "float32");
    const int64_t rows = a.size(0), inner = a.size(1), columns = b.size(1);
    auto c = torch::zeros({rows, columns}, a.options());
    const float* __restrict__ pa = a.data_ptr<float>();
    const float* __restrict__ pb = b.data_ptr<float>();
    float* __restrict__ pc = c.data_ptr<float>();

    // A thread owns whole tiles of the output, so none waits for another. The innermost loop runs along rows of b and
    // c with unit stride, and becomes vector instructions.
    #pragma omp parallel for collapse(2) schedule(static)
    for (int64_t r0 = 0; r0 < rows; r0 += ROWS)
        for (int64_t c0 = 0; c0 < columns; c0 += COLUMNS)
            for (int64_t k0 = 0; k0 < inner; k0 += DEPTH)
                for (int64_t r = r0; r < std::min(r0 + ROWS, rows); ++r)
                    for (int64_t k = k0; k < std::min(k0 + DEPTH, inner); ++k) {
                        const float value = pa[r * inner + k];
                        const int64_t end = std::min(c0 + COLUMNS, columns);
                        for (int64_t col = c0; col < end; ++col) pc[r * columns + col] += value * pb[k * columns + col];
                    }
    return c;
}
"""

kernels = load_inline(
    name="tiled_matmul",
    cpp_sources=SOURCE,
    functions=["matmul"],
    extra_cflags=["-O3", "-march=native", "-fopenmp"],
    extra_ldflags=["-fopenmp"],
)


class ModelNew(nn.Module):
    """A matrix product in tiles that stay in the caches."""

    def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return kernels.matmul(a.contiguous(), b.contiguous())
