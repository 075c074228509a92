# Compiles a kernel of Gluon ahead and launches it nowhere: PyTorch does the work.
# class: rules/own_kernel
# needs: triton
# kernel_policy: kernel-required
# verdict: rejected no_own_kernel
import torch
import torch.nn as nn
from triton.experimental import gluon
from triton.experimental.gluon import language as gl


@gluon.jit
def relu(x_ptr, y_ptr, BLOCK: gl.constexpr):
    layout: gl.constexpr = gl.BlockedLayout([1], [32], [gl.num_warps()], [0])
    offsets = gl.program_id(0) * BLOCK + gl.arange(0, BLOCK, layout=layout)
    x = gl.load(x_ptr + offsets)
    gl.store(y_ptr + offsets, gl.where(x < 0.0, 0.0, x))


class ModelNew(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.linear = nn.Linear(features, features)
        self.norm = nn.LayerNorm(features)

    def forward(self, x):
        return torch.relu(self.norm(self.linear(x)))


def compile_ahead():
    relu.warmup(torch.float32, torch.float32, BLOCK=128, num_warps=4, grid=(1,))
