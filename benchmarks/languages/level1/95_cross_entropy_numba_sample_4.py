import math

import torch
import torch.nn as nn
from numba import cuda, float32

THREADS = 256


@cuda.jit
def losses_kernel(x, targets, losses, classes):
    """One block a row; it is read twice, the second time from the L1 cache."""
    maxima = cuda.shared.array(THREADS, float32)
    totals = cuda.shared.array(THREADS, float32)
    thread, threads = cuda.threadIdx.x, cuda.blockDim.x
    first = cuda.blockIdx.x * classes
    most = float32(-3.0e38)
    for i in range(first + thread, first + classes, threads):
        value = x[i]
        if value > most:
            most = value
    maxima[thread] = most
    cuda.syncthreads()
    half = threads // 2
    while half > 0:
        if thread < half and maxima[thread + half] > maxima[thread]:
            maxima[thread] = maxima[thread + half]
        cuda.syncthreads()
        half //= 2
    most = maxima[0]
    total = float32(0.0)
    for i in range(first + thread, first + classes, threads):
        total += math.exp(x[i] - most)
    totals[thread] = total
    cuda.syncthreads()
    half = threads // 2
    while half > 0:
        if thread < half:
            totals[thread] += totals[thread + half]
        cuda.syncthreads()
        half //= 2
    if thread == 0:
        losses[cuda.blockIdx.x] = most + math.log(totals[0]) - x[first + targets[cuda.blockIdx.x]]


def flat(tensor):
    tensor = tensor.detach().reshape(-1)
    return cuda.as_cuda_array(tensor) if tensor.is_cuda else tensor.numpy()


def current_stream(tensor):
    return cuda.external_stream(torch.cuda.current_stream().cuda_stream) if tensor.is_cuda else 0


class ModelNew(nn.Module):
    def forward(self, predictions: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        rows, classes = predictions.shape
        losses = torch.empty(rows, dtype=predictions.dtype, device=predictions.device)
        threads = THREADS if predictions.is_cuda else 8  # the simulator starts a thread of Python for each
        arguments = (flat(predictions.contiguous()), flat(targets.contiguous()), flat(losses), classes)
        losses_kernel[rows, threads, current_stream(predictions)](*arguments)
        return losses.mean()
