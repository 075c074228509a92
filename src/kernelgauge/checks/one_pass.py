"""The sums behind a distance in one pass over a GPU's memory: by PyTorch's operators they take seven to nine.

Outputs of gigabytes are compared after every timed call, so these passes are a good part of an evaluation.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import torch

from kernelgauge.kernels import CompilerMissing, CudaKernel, cuda_kernel

_THREADS = 256
_BLOCKS = 2048
_NUMBERS, _PLACES = 3, 3
"""Per block: squared error, squared expected output, largest error; its place, elements skipped, first mismatch."""
_NOWHERE = 2**63 - 1

_TYPES = {torch.float64: "double", torch.float32: "float", torch.float16: "Half", torch.bfloat16: "Brain"}

_SOURCE = r"""
struct Half { unsigned short bits; };
struct Brain { unsigned short bits; };

__device__ double wide(double x) { return x; }
__device__ double wide(float x) { return x; }
__device__ double wide(Half x) { float y; asm("cvt.f32.f16 %0, %1;" : "=f"(y) : "h"(x.bits)); return y; }
__device__ double wide(Brain x) { return __uint_as_float((unsigned)x.bits << 16); }

struct Found {  // without initialisers: shared memory takes none
    double error, expected, worst;
    long long at, skipped, mismatch;

    __device__ void see(double got, double due, long long place) {
        double off = got - due;
        if (!isfinite(off)) {
            if (got == due || (isnan(got) && isnan(due))) skipped++;
            else if (place < mismatch) mismatch = place;
            off = 0;
        }
        if (isfinite(due)) expected += due * due;
        error += off * off;
        off = fabs(off);
        if (off > worst) { worst = off; at = place; }
    }

    __device__ void join(const Found& other) {
        error += other.error;
        expected += other.expected;
        skipped += other.skipped;
        if (other.worst > worst) { worst = other.worst; at = other.at; }
        if (other.mismatch < mismatch) mismatch = other.mismatch;
    }
};

template <typename Got, typename Due>
__global__ void distance(const Got* got, const Due* due, long long count, double* numbers, long long* places) {
    Found mine = {0, 0, -1, 0, 0, 0x7fffffffffffffffLL};
    const long long step = (long long)gridDim.x * blockDim.x;
    long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    for (; i + 3 * step < count; i += 4 * step) {
        Got a[4];
        Due b[4];
        for (int k = 0; k < 4; ++k) { a[k] = got[i + k * step]; b[k] = due[i + k * step]; }
        for (int k = 0; k < 4; ++k) mine.see(wide(a[k]), wide(b[k]), i + k * step);
    }
    for (; i < count; i += step) mine.see(wide(got[i]), wide(due[i]), i);

    __shared__ Found all[THREADS];
    all[threadIdx.x] = mine;
    for (int half = THREADS / 2; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half) all[threadIdx.x].join(all[threadIdx.x + half]);
    }
    if (threadIdx.x == 0) {
        double* n = numbers + 3 * blockIdx.x;
        long long* p = places + 3 * blockIdx.x;
        n[0] = all[0].error; n[1] = all[0].expected; n[2] = all[0].worst;
        p[0] = all[0].at; p[1] = all[0].skipped; p[2] = all[0].mismatch;
    }
}
"""
_PARAMETERS = ("const void*", "const void*", "long long", "double*", "long long*")


@dataclass(frozen=True)
class Totals:
    """Sums over one output of any number of elements, in float64."""

    squared_error: float
    squared_due: float
    worst: float
    """Largest absolute error of an element; -1 where there is none."""
    worst_at: int
    skipped: int
    """Elements that are infinite or NaN on both sides alike."""
    mismatch_at: int | None
    """First element that is finite on one side only."""


@cache
def kernel_for(got: torch.dtype, due: torch.dtype, *options: str) -> CudaKernel:
    """The kernel for an output of one type and an expected one of another.

    Args:
        options: for the compiler: an architecture, where there is no GPU to ask.
    """
    name = f"distance<{_TYPES[got]}, {_TYPES[due]}>"
    return cuda_kernel(_SOURCE, name, options=[f"-DTHREADS={_THREADS}", *options], parameters=_PARAMETERS)


def totals(output: torch.Tensor, expected: torch.Tensor) -> Totals | None:
    """Sums over two contiguous tensors of one shape; None where this way cannot be gone, as on a CPU."""
    both = (output, expected)
    if not all(each.is_cuda and each.is_contiguous() and each.dtype in _TYPES for each in both) or not output.numel():
        return None
    with torch.cuda.device(output.device):
        numbers = torch.empty((_BLOCKS, _NUMBERS), dtype=torch.float64, device=output.device)
        places = torch.empty((_BLOCKS, _PLACES), dtype=torch.int64, device=output.device)
        try:
            kernel_for(output.dtype, expected.dtype)(
                _BLOCKS, _THREADS, output, expected, output.numel(), numbers, places
            )
        except CompilerMissing:  # PyTorch's operators come to the same
            return None
    error, due, worst = numbers.cpu().unbind(1)
    at, skipped, mismatch = places.cpu().unbind(1)
    block = int(worst.argmax())
    first = int(mismatch.min())
    return Totals(
        float(error.sum()),
        float(due.sum()),
        float(worst[block]),
        int(at[block]),
        int(skipped.sum()),
        None if first == _NOWHERE else first,
    )
