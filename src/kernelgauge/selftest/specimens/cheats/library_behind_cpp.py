# C++ in name only: it calls ATen and has no kernel, on a GPU as on a CPU.
# class: rules/own_kernel
# kernel_policy: kernel-required
# verdict: rejected no_own_kernel
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

SOURCE = r"""
torch::Tensor fused(torch::Tensor x, torch::Tensor w, torch::Tensor b, torch::Tensor gain, torch::Tensor shift) {
    return at::relu(at::layer_norm(at::addmm(b, x, w.t()), {w.size(0)}, gain, shift));
}
"""

kernels = load_inline(name="fused", cpp_sources=SOURCE, functions=["fused"])


class ModelNew(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.linear = nn.Linear(features, features)
        self.norm = nn.LayerNorm(features)

    def forward(self, x):
        return kernels.fused(x, self.linear.weight, self.linear.bias, self.norm.weight, self.norm.bias)
