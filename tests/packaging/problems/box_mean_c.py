"""Sums along one axis, then along the other: 62 numbers for each window, in C; not vectorised."""

import ctypes
import subprocess
import tempfile
from pathlib import Path

import torch

WINDOW = 31
SOURCE = r"""
// `sums` holds a row of an image, summed over WINDOW rows.
void kernel(const float* in, float* y, float* sums, long images, long rows, long columns) {
    const long down = rows - WINDOW + 1, across = columns - WINDOW + 1;
    for (long image = 0; image < images; ++image) {
        for (long row = 0; row < down; ++row) {
            const float* x = in + (image * rows + row) * columns;
            float* out = y + (image * down + row) * across;
            for (long i = 0; i < columns; ++i) sums[i] = x[i];
            for (long other = 1; other < WINDOW; ++other)
                for (long i = 0; i < columns; ++i) sums[i] += x[other * columns + i];
            for (long i = 0; i < across; ++i) out[i] = sums[i];
            for (long other = 1; other < WINDOW; ++other)
                for (long i = 0; i < across; ++i) out[i] += sums[i + other];
            for (long i = 0; i < across; ++i) out[i] /= WINDOW * WINDOW;
        }
    }
}
"""

folder = Path(tempfile.mkdtemp())
(folder / "kernel.c").write_text(SOURCE)
subprocess.run(
    ["gcc", f"-DWINDOW={WINDOW}", "-O1", "-fPIC", "-shared", "kernel.c", "-o", "kernel.so"], cwd=folder, check=True
)
kernel = ctypes.CDLL(str(folder / "kernel.so")).kernel
kernel.restype = None
kernel.argtypes = [ctypes.c_void_p] * 3 + [ctypes.c_long] * 3


class ModelNew(torch.nn.Module):
    def forward(self, x):
        images, rows, columns = x.shape
        out, sums = x.new_empty(images, rows - WINDOW + 1, columns - WINDOW + 1), x.new_empty(columns)
        kernel(x.data_ptr(), out.data_ptr(), sums.data_ptr(), images, rows, columns)
        return out
