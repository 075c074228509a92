# Defines a kernel in CuTe's Python form and launches it nowhere: PyTorch does the work.
# class: rules/own_kernel
# needs: cutlass
# kernel_policy: kernel-required
# verdict: rejected no_own_kernel
import cutlass.cute as cute
import torch
import torch.nn as nn


@cute.kernel
def relu(x: cute.Tensor, y: cute.Tensor):
    thread, _, _ = cute.arch.thread_idx()
    y[thread] = x[thread] * (x[thread] > 0.0)


class ModelNew(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.linear = nn.Linear(features, features)
        self.norm = nn.LayerNorm(features)

    def forward(self, x):
        return torch.relu(self.norm(self.linear(x)))
