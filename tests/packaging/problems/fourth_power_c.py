"""Two products, in C."""

import ctypes
import subprocess
import tempfile
from pathlib import Path

import torch

SOURCE = r"""
#include <math.h>

void kernel(const float* in, float* y, long count) {
    #pragma omp simd
    for (long i = 0; i < count; ++i) {
        const float square = in[i] * in[i];
        y[i] = square * square;
    }
}
"""

folder = Path(tempfile.mkdtemp())
(folder / "kernel.c").write_text(SOURCE)
# Compiled and linked apart: a link with -ffast-math would change the arithmetic of the whole process.
flags = ["-O3", "-march=native", "-ffast-math", "-fopenmp-simd", "-fPIC"]
subprocess.run(["gcc", *flags, "-c", "kernel.c"], cwd=folder, check=True)
subprocess.run(["gcc", "-shared", "kernel.o", "-o", "kernel.so", "-lmvec", "-lm"], cwd=folder, check=True)
kernel = ctypes.CDLL(str(folder / "kernel.so")).kernel
kernel.restype = None
kernel.argtypes = [ctypes.c_void_p] * 2 + [ctypes.c_long]


class ModelNew(torch.nn.Module):
    def forward(self, x):
        out = torch.empty_like(x)
        kernel(x.data_ptr(), out.data_ptr(), x.numel())
        return out
