"""A running sum, to which each token is added once, in C; not vectorised."""

import ctypes
import subprocess
import tempfile
from pathlib import Path

import torch

SOURCE = r"""
#include <math.h>

enum { WINDOW = 255, HALF = WINDOW / 2 };

void kernel(const float* gate, const float* up, float* y, long rows, long tokens) {
    for (long row = 0; row < rows; ++row) {
        const float* in = gate + row * tokens;
        double sum = 0;
        for (long i = 0; i < HALF && i < tokens; ++i) sum += in[i];
        for (long i = 0; i < tokens; ++i) {
            if (i + HALF < tokens) sum += in[i + HALF];
            y[row * tokens + i] = up[row * tokens + i] / (1.0f + expf((float)(-sum / WINDOW)));
            if (i >= HALF) sum -= in[i - HALF];
        }
    }
}
"""

folder = Path(tempfile.mkdtemp())
(folder / "kernel.c").write_text(SOURCE)
subprocess.run(["gcc", "-O1", "-fPIC", "-shared", "kernel.c", "-o", "kernel.so", "-lm"], cwd=folder, check=True)
kernel = ctypes.CDLL(str(folder / "kernel.so")).kernel
kernel.restype = None
kernel.argtypes = [ctypes.c_void_p] * 3 + [ctypes.c_long] * 2


class ModelNew(torch.nn.Module):
    def forward(self, gate, up):
        out = torch.empty_like(gate)
        tokens = gate.shape[-1]
        kernel(gate.data_ptr(), up.data_ptr(), out.data_ptr(), gate.numel() // tokens, tokens)
        return out
