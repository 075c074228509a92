import torch
import torch.nn as nn
from numba import cuda, float32

COLUMNS, PARTS = 32, 16


@cuda.jit
def sum_kernel(x, y, length, columns):
    """A warp adds up 32 neighbouring columns; 16 of them share the rows and meet in shared memory."""
    partial = cuda.shared.array((PARTS, COLUMNS), float32)
    lane, part = cuda.threadIdx.x, cuda.threadIdx.y
    parts = cuda.blockDim.y
    column = cuda.blockIdx.x * cuda.blockDim.x + lane
    total = float32(0.0)
    if column < columns:
        first = cuda.blockIdx.y * length * columns + column
        # Four rows at once, so that four loads are on their way.
        whole = length - length % (4 * parts)
        a, b, c, d = float32(0.0), float32(0.0), float32(0.0), float32(0.0)
        for row in range(part, whole, 4 * parts):
            a += x[first + row * columns]
            b += x[first + (row + parts) * columns]
            c += x[first + (row + 2 * parts) * columns]
            d += x[first + (row + 3 * parts) * columns]
        total = (a + b) + (c + d)
        for row in range(whole + part, length, parts):
            total += x[first + row * columns]
    partial[part, lane] = total
    cuda.syncthreads()
    if part == 0 and column < columns:
        for other in range(1, parts):
            total += partial[other, lane]
        y[cuda.blockIdx.y * columns + column] = total


def flat(tensor):
    tensor = tensor.detach().reshape(-1)
    return cuda.as_cuda_array(tensor) if tensor.is_cuda else tensor.numpy()


def current_stream(tensor):
    return cuda.external_stream(torch.cuda.current_stream().cuda_stream) if tensor.is_cuda else 0


class ModelNew(nn.Module):
    def __init__(self, dim: int):
        super().__init__()
        assert dim == 1, "written for the middle dimension of three"

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, length, columns = x.shape
        y = torch.empty(batch, 1, columns, dtype=x.dtype, device=x.device)
        threads = (COLUMNS, PARTS) if x.is_cuda else (4, 2)  # the simulator starts a thread of Python for each
        blocks = (-(-columns // threads[0]), batch)
        sum_kernel[blocks, threads, current_stream(x)](flat(x), flat(y), length, columns)
        return y
