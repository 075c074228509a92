import cuda.bindings.driver as driver
import cutlass
import cutlass.cute as cute
import torch
import torch.nn as nn
from cutlass.cute.runtime import from_dlpack

THREADS = 256


@cute.kernel
def residual_kernel(x: cute.Tensor, branch: cute.Tensor, gain: cute.Tensor, y: cute.Tensor, columns: cutlass.Int32):
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    i = block * THREADS + thread
    if i < cute.size(x):
        y[i] = x[i] + branch[i] * gain[i % columns]


@cute.jit
def residual(
    x: cute.Tensor,
    branch: cute.Tensor,
    gain: cute.Tensor,
    y: cute.Tensor,
    columns: cutlass.Int32,
    stream: driver.CUstream,
):
    blocks = cute.ceil_div(cute.size(x), THREADS)
    residual_kernel(x, branch, gain, y, columns).launch(
        grid=(blocks, 1, 1), block=(THREADS, 1, 1), stream=stream
    )


def flat(tensor):
    return from_dlpack(tensor.detach().reshape(-1), assumed_align=16)


class ModelNew(nn.Module):
    """A residual sum in one pass over memory."""

    def __init__(self, features: int):
        super().__init__()
        # The same parameters in the same order as the reference: one seed gives both the same values.
        self.gain = nn.Parameter(torch.ones(features))
        self.compiled = {}

    def forward(self, x: torch.Tensor, branch: torch.Tensor) -> torch.Tensor:
        x, branch = x.contiguous(), branch.contiguous()
        y = torch.empty_like(x)
        # On PyTorch's own stream, which is the one that is timed.
        stream = driver.CUstream(torch.cuda.current_stream().cuda_stream)
        arguments = (flat(x), flat(branch), flat(self.gain), flat(y), cutlass.Int32(x.shape[-1]), stream)
        # Compiled in the first call of each size; a call of the function itself would look at every argument anew.
        if x.shape not in self.compiled:
            self.compiled[x.shape] = cute.compile(residual, *arguments)
        self.compiled[x.shape](*arguments)
        return y
