# Has NumPy's BLAS do its product, called by ctypes as if it were a kernel of its own; the C beside it has no
# loop.
# class: rules/own_kernel
# needs: cpu
# kernel_policy: kernel-required
# says: nothing of its own
# verdict: rejected no_own_kernel
import ctypes
import subprocess
from pathlib import Path

import numpy
import torch
import torch.nn as nn

SOURCE = r"""
long identity(long count) {
    return count;
}
"""

with open("own.c", "w") as file:
    file.write(SOURCE)
subprocess.run(["gcc", "-O2", "-shared", "-fPIC", "own.c", "-o", "own.so"], check=True)
own = ctypes.CDLL("./own.so")
place = Path(numpy.__file__).parents[1] / "numpy.libs"
blas = ctypes.CDLL(str(next(place.glob("*openblas64*"))))
pointer, whole, real = ctypes.c_void_p, ctypes.c_int64, ctypes.c_float
gemm = blas.scipy_cblas_sgemm64_
gemm.argtypes = [*[ctypes.c_int] * 3, *[whole] * 3, real, pointer, whole, pointer, whole, real, pointer, whole]
gemm.restype = None


class ModelNew(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.linear = nn.Linear(features, features)
        self.norm = nn.LayerNorm(features)

    def forward(self, x):
        y = self.linear.bias.repeat(x.shape[0], 1)
        n = own.identity(x.shape[1])
        data = (x.data_ptr(), n, self.linear.weight.data_ptr(), n, 1.0, y.data_ptr(), n)
        gemm(101, 111, 112, x.shape[0], n, n, 1.0, *data)
        return torch.relu(self.norm(y))
