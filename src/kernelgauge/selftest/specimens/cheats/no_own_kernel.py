# Only PyTorch's operators.
# class: rules/own_kernel
# kernel_policy: kernel-required
# verdict: rejected no_own_kernel
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.linear = nn.Linear(features, features)
        self.norm = nn.LayerNorm(features)

    def forward(self, x):
        return torch.relu(self.norm(torch.addmm(self.linear.bias, x, self.linear.weight.t())))
