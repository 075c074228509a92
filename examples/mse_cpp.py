"""Mean squared error in C++ with OpenMP: an answer to problem 1/94 of the suite.

kernelgauge eval 1/94 examples/mse_cpp.py

The reference subtracts, squares and averages in three passes over memory. This makes one. It runs on a CPU.
"""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

SOURCE = r"""
#include <cstdint>

torch::Tensor mean_squared_error(torch::Tensor predictions, torch::Tensor targets) {
    TORCH_CHECK(predictions.scalar_type() == torch::kFloat32 && targets.scalar_type() == torch::kFloat32, "float32");
    TORCH_CHECK(predictions.numel() == targets.numel(), "as many targets as predictions");
    const float* p = predictions.data_ptr<float>();
    const float* t = targets.data_ptr<float>();
    const int64_t count = predictions.numel();
    double total = 0;  // in double: a float that has grown large swallows small squares

    #pragma omp parallel for simd reduction(+ : total) schedule(static)
    for (int64_t i = 0; i < count; ++i) {
        const float difference = p[i] - t[i];
        total += difference * difference;
    }
    return torch::full({}, total / count, predictions.options());
}
"""

kernels = load_inline(
    name="mean_squared_error",
    cpp_sources=SOURCE,
    functions=["mean_squared_error"],
    extra_cflags=["-O3", "-march=native", "-fopenmp"],
    extra_ldflags=["-fopenmp"],
)


class ModelNew(nn.Module):
    def forward(self, predictions: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        return kernels.mean_squared_error(predictions.contiguous(), targets.contiguous())
