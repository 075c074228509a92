import torch
import torch.nn as nn
from numba import cuda

THREADS = 64


@cuda.jit
def residual_kernel(x, branch, gain, y):
    """One element to a thread; neighbouring threads get neighbouring elements."""
    i = cuda.grid(1)
    if i < x.size:  # the last block reaches over the edge
        y[i] = x[i] + branch[i] * gain[i % gain.size]


def flat(tensor):
    """The memory of a tensor as Numba sees it: on a GPU without a copy; the simulator on a CPU takes NumPy's arrays."""
    tensor = tensor.detach().reshape(-1)
    return cuda.as_cuda_array(tensor) if tensor.is_cuda else tensor.numpy()


def current_stream(tensor):
    """PyTorch's own stream, which is the one that is timed; a CPU has none."""
    return cuda.external_stream(torch.cuda.current_stream().cuda_stream) if tensor.is_cuda else 0


class ModelNew(nn.Module):
    """A residual sum in one pass over memory."""

    def __init__(self, features: int):
        super().__init__()
        # The same parameter as the reference: one seed gives both the same values.
        self.gain = nn.Parameter(torch.ones(features))

    def forward(self, x: torch.Tensor, branch: torch.Tensor) -> torch.Tensor:
        x, branch = x.contiguous(), branch.contiguous()
        y = torch.empty_like(x)
        blocks = (x.numel() + THREADS - 1) // THREADS
        residual_kernel[blocks, THREADS, current_stream(x)](flat(x), flat(branch), flat(self.gain), flat(y))
        return y
