# No kernel of its own: one C++ function that calls ATen.
# style: library
# expect: about
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = """
#include <torch/extension.h>

torch::Tensor linear_mish_mish(torch::Tensor x, torch::Tensor weight, torch::Tensor bias) {
    auto y = at::addmm(bias, x, weight.t());
    at::mish_(y);
    at::mish_(y);
    return y;
}
"""

extension = load_inline(
    name="linear_mish_mish",
    cpp_sources=[source],
    functions=["linear_mish_mish"],
    extra_cflags=["-O3"],
)


class ModelNew(nn.Module):
    def __init__(self, in_features: int, out_features: int):
        super().__init__()
        self.linear = nn.Linear(in_features, out_features)

    def forward(self, x):
        return extension.linear_mish_mish(x, self.linear.weight, self.linear.bias)
