# CUDA in name only: its source calls PyTorch's operators.
# class: rules/own_kernel
# needs: cuda
# kernel_policy: kernel-required
# verdict: rejected no_own_kernel
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

SOURCE = r"""
#include <torch/types.h>

// __global__ void fused(float* x): what this is not
torch::Tensor fused(torch::Tensor x, torch::Tensor w, torch::Tensor b, torch::Tensor gain, torch::Tensor shift) {
    return at::relu(at::layer_norm(at::addmm(b, x, w.t()), {x.size(1)}, gain, shift));
}
"""

kernels = load_inline(
    name="fused",
    cpp_sources="torch::Tensor fused(torch::Tensor x, torch::Tensor w, torch::Tensor b, torch::Tensor gain, torch::Tensor shift);",
    cuda_sources=SOURCE,
    functions=["fused"],
)


class ModelNew(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.linear = nn.Linear(features, features)
        self.norm = nn.LayerNorm(features)

    def forward(self, x):
        return kernels.fused(x, self.linear.weight, self.linear.bias, self.norm.weight, self.norm.bias)
