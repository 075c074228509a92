# Compiles a kernel of TileLang in the constructor, and has PyTorch do the work.
# class: rules/own_kernel
# needs: tilelang
# kernel_policy: kernel-required
# verdict: rejected no_own_kernel
import tilelang
import tilelang.language as T
import torch
import torch.nn as nn


@tilelang.jit
def compiled(count, width=128, dtype="float32"):
    @T.prim_func
    def double(x: T.Tensor((count,), dtype), y: T.Tensor((count,), dtype)):
        with T.Kernel(T.ceildiv(count, width), threads=128) as bx:
            for i in T.Parallel(width):
                if bx * width + i < count:
                    y[bx * width + i] = x[bx * width + i] * 2

    return double


class ModelNew(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.linear = nn.Linear(features, features)
        self.norm = nn.LayerNorm(features)
        self.kernel = compiled(features)

    def forward(self, x):
        return torch.relu(self.norm(self.linear(x)))
