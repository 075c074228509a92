# Compiles C for itself and calls it by ctypes.
# class: rules/own_kernel
# needs: cpu
# kernel_policy: kernel-required
# verdict: passed
import ctypes
import subprocess

import torch
import torch.nn as nn

SOURCE = r"""
void relu(const float* x, float* y, long count) {
    for (long i = 0; i < count; ++i) y[i] = x[i] > 0 ? x[i] : 0;
}
"""

with open("relu.c", "w") as file:
    file.write(SOURCE)
subprocess.run(["gcc", "-O2", "-shared", "-fPIC", "relu.c", "-o", "relu.so"], check=True)
library = ctypes.CDLL("./relu.so")
library.relu.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_long]
library.relu.restype = None


class ModelNew(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.linear = nn.Linear(features, features)
        self.norm = nn.LayerNorm(features)

    def forward(self, x):
        y = self.norm(self.linear(x)).cpu()
        out = torch.empty_like(y)
        library.relu(y.data_ptr(), out.data_ptr(), y.numel())
        return out.to(x.device)
