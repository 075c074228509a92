import math

import torch
import torch.nn as nn
from numba import cuda, float32

THREADS = 128
MOST_FEATURES = 64


@cuda.jit
def rms_norm_kernel(x, y, features, pixels, eps):
    """One pixel to a thread, whose features wait in shared memory: x is read once, and no thread needs another's."""
    kept = cuda.shared.array((MOST_FEATURES, THREADS), float32)
    thread = cuda.threadIdx.x
    pixel = cuda.blockIdx.x * cuda.blockDim.x + thread
    if pixel < pixels:
        first = cuda.blockIdx.y * features * pixels + pixel
        total = float32(0.0)
        # Four features at a time: loads do not pass stores, so they come first.
        whole = features - features % 4
        for f in range(0, whole, 4):
            at = first + f * pixels
            a, b, c, d = x[at], x[at + pixels], x[at + 2 * pixels], x[at + 3 * pixels]
            kept[f, thread], kept[f + 1, thread], kept[f + 2, thread], kept[f + 3, thread] = a, b, c, d
            total += (a * a + b * b) + (c * c + d * d)
        for f in range(whole, features):
            value = x[first + f * pixels]
            kept[f, thread] = value
            total += value * value
        scale = float32(1.0) / math.sqrt(total / float32(features) + eps)
        for f in range(features):
            y[first + f * pixels] = kept[f, thread] * scale


def flat(tensor):
    tensor = tensor.detach().reshape(-1)
    return cuda.as_cuda_array(tensor) if tensor.is_cuda else tensor.numpy()


def current_stream(tensor):
    return cuda.external_stream(torch.cuda.current_stream().cuda_stream) if tensor.is_cuda else 0


class ModelNew(nn.Module):
    def __init__(self, num_features: int, eps: float = 1e-5):
        super().__init__()
        assert num_features <= MOST_FEATURES, "more features than fit shared memory"
        self.eps = eps

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x.contiguous()
        y = torch.empty_like(x)
        pixels = x[0, 0].numel()
        threads = THREADS if x.is_cuda else 8  # the simulator starts a thread of Python for each
        blocks = (-(-pixels // threads), x.shape[0])
        rms_norm_kernel[blocks, threads, current_stream(x)](flat(x), flat(y), x.shape[1], pixels, float32(self.eps))
        return y
