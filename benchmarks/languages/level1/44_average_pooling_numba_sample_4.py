import torch
import torch.nn as nn
from numba import cuda, float32

THREADS = 256
EACH = 4  # outputs of a thread
LARGEST = 64  # window
STAGED = THREADS * EACH + LARGEST


@cuda.jit
def pool_kernel(x, y, length, out_length, size, padding):
    """A block stages what its outputs need in shared memory, the padding as zeros."""
    staged = cuda.shared.array(STAGED, float32)
    thread, threads = cuda.threadIdx.x, cuda.blockDim.x
    tile = threads * EACH
    first = cuda.blockIdx.x * tile
    row = cuda.blockIdx.y
    begin = first - padding
    if begin >= 0 and begin + tile + size <= length:
        # Loads do not pass stores, so all four come first.
        at = row * length + begin + thread
        a, b, c, d = x[at], x[at + threads], x[at + 2 * threads], x[at + 3 * threads]
        staged[thread], staged[thread + threads] = a, b
        staged[thread + 2 * threads], staged[thread + 3 * threads] = c, d
        for i in range(thread, size - 1, threads):
            staged[tile + i] = x[row * length + begin + tile + i]
    else:
        for i in range(thread, tile + size - 1, threads):
            at = begin + i
            staged[i] = x[row * length + at] if at >= 0 and at < length else float32(0.0)
    cuda.syncthreads()
    for i in range(thread, tile, threads):
        if first + i < out_length:
            total = float32(0.0)
            for w in range(size):
                total += staged[i + w]
            y[row * out_length + first + i] = total / float32(size)


def flat(tensor):
    tensor = tensor.detach().reshape(-1)
    return cuda.as_cuda_array(tensor) if tensor.is_cuda else tensor.numpy()


def current_stream(tensor):
    return cuda.external_stream(torch.cuda.current_stream().cuda_stream) if tensor.is_cuda else 0


class ModelNew(nn.Module):
    def __init__(self, kernel_size: int, stride: int = 1, padding: int = 0):
        super().__init__()
        assert stride == 1 and kernel_size <= LARGEST, "written for small windows at each place"
        self.size, self.padding = kernel_size, padding

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x.contiguous()
        length = x.shape[-1]
        out_length = length + 2 * self.padding - self.size + 1
        y = torch.empty(*x.shape[:-1], out_length, dtype=x.dtype, device=x.device)
        threads = THREADS if x.is_cuda else 8  # the simulator starts a thread of Python for each
        blocks = (-(-out_length // (threads * EACH)), x.numel() // length)
        arguments = (flat(x), flat(y), length, out_length, self.size, self.padding)
        pool_kernel[blocks, threads, current_stream(x)](*arguments)
        return y
