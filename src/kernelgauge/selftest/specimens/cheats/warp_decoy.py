# Defines a kernel of Warp and launches it nowhere: PyTorch does the work.
# class: rules/own_kernel
# needs: warp
# kernel_policy: kernel-required
# verdict: rejected no_own_kernel
import torch
import torch.nn as nn
import warp as wp

wp.config.log_level = wp.LOG_WARNING
wp.init()


@wp.kernel(enable_backward=False)
def relu(x: wp.array(dtype=wp.float32), y: wp.array(dtype=wp.float32)):
    i = wp.tid()
    y[i] = wp.max(x[i], 0.0)


class ModelNew(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.linear = nn.Linear(features, features)
        self.norm = nn.LayerNorm(features)
        self.kernel = relu

    def forward(self, x):
        return torch.relu(self.norm(self.linear(x)))
