"""Each row added up once, in C. Not vectorised: it is faster because it does less, and not too short to be timed."""

import ctypes
import subprocess
import tempfile
from pathlib import Path

import torch

SOURCE = r"""
#include <math.h>

void kernel(const float* x, const float* weight, float* y, long rows, long width, double eps) {
    for (long row = 0; row < rows; ++row) {
        const float* in = x + row * width;
        float* out = y + row * width;
        float total = 0;
        for (long i = 0; i < width; ++i) total += in[i] * in[i];
        const float scale = 1.0f / sqrtf(total / width + (float)eps);
        for (long i = 0; i < width; ++i) out[i] = weight[i] * (in[i] * scale);
    }
}
"""

folder = Path(tempfile.mkdtemp())
(folder / "kernel.c").write_text(SOURCE)
subprocess.run(["gcc", "-O1", "-fPIC", "-shared", "kernel.c", "-o", "kernel.so", "-lm"], cwd=folder, check=True)
kernel = ctypes.CDLL(str(folder / "kernel.so")).kernel
kernel.restype = None
kernel.argtypes = [ctypes.c_void_p] * 3 + [ctypes.c_long] * 2 + [ctypes.c_double]


class ModelNew(torch.nn.Module):
    def __init__(self, width, eps):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(width))
        self.eps = eps

    def forward(self, hidden):
        out = torch.empty_like(hidden)
        width = hidden.shape[-1]
        rows = hidden.numel() // width
        kernel(hidden.data_ptr(), self.weight.data_ptr(), out.data_ptr(), rows, width, self.eps)
        return out
