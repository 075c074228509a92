import math

import torch
import torch.nn as nn
from numba import cuda, float32

THREADS = 1024


@cuda.jit
def softmax_kernel(x, y, columns):
    """One block a row, which it reads twice: it is too long for registers."""
    maxima = cuda.shared.array(THREADS, float32)
    totals = cuda.shared.array(THREADS, float32)
    thread, threads = cuda.threadIdx.x, cuda.blockDim.x
    first = cuda.blockIdx.x * columns
    most = float32(-3.0e38)
    total = float32(0.0)
    # Four elements at a time, so that four loads are on their way.
    whole = columns - columns % (4 * threads)
    for i in range(first + thread, first + whole, 4 * threads):
        a, b, c, d = x[i], x[i + threads], x[i + 2 * threads], x[i + 3 * threads]
        ab = a if a > b else b
        cd = c if c > d else d
        larger = ab if ab > cd else cd
        if larger > most:
            total *= math.exp(most - larger)
            most = larger
        total += (math.exp(a - most) + math.exp(b - most)) + (math.exp(c - most) + math.exp(d - most))
    for i in range(first + whole + thread, first + columns, threads):
        value = x[i]
        if value > most:
            total *= math.exp(most - value)
            most = value
        total += math.exp(value - most)
    maxima[thread] = most
    totals[thread] = total
    cuda.syncthreads()
    half = threads // 2
    while half > 0:
        if thread < half:
            other = maxima[thread + half]
            most = maxima[thread] if maxima[thread] > other else other
            mine = totals[thread] * math.exp(maxima[thread] - most)
            totals[thread] = mine + totals[thread + half] * math.exp(other - most)
            maxima[thread] = most
        cuda.syncthreads()
        half //= 2
    most = maxima[0]
    scale = float32(1.0) / totals[0]
    for i in range(first + thread, first + whole, 4 * threads):
        a, b, c, d = x[i], x[i + threads], x[i + 2 * threads], x[i + 3 * threads]
        y[i] = math.exp(a - most) * scale
        y[i + threads] = math.exp(b - most) * scale
        y[i + 2 * threads] = math.exp(c - most) * scale
        y[i + 3 * threads] = math.exp(d - most) * scale
    for i in range(first + whole + thread, first + columns, threads):
        y[i] = math.exp(x[i] - most) * scale


def flat(tensor):
    tensor = tensor.detach().reshape(-1)
    return cuda.as_cuda_array(tensor) if tensor.is_cuda else tensor.numpy()


def current_stream(tensor):
    return cuda.external_stream(torch.cuda.current_stream().cuda_stream) if tensor.is_cuda else 0


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x.contiguous()
        y = torch.empty_like(x)
        threads = THREADS if x.is_cuda else 8  # the simulator starts a thread of Python for each
        softmax_kernel[x.shape[0], threads, current_stream(x)](flat(x), flat(y), x.shape[1])
        return y
