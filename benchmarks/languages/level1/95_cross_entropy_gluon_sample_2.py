import torch
import torch.nn as nn
import triton
from triton.experimental import gluon
from triton.experimental.gluon import language as gl


@gluon.jit
def losses_kernel(x_ptr, target_ptr, losses_ptr, classes, BLOCK: gl.constexpr):
    """One program a row, which it holds in registers."""
    layout: gl.constexpr = gl.BlockedLayout([4], [32], [gl.num_warps()], [0])
    row = gl.program_id(0).to(gl.int64)
    offsets = gl.arange(0, BLOCK, layout=layout)
    x = gl.load(x_ptr + row * classes + offsets, mask=offsets < classes, other=-float("inf"))
    right = gl.load(x_ptr + row * classes + gl.load(target_ptr + row))
    most = gl.max(x, axis=0)
    gl.store(losses_ptr + row, most + gl.log(gl.sum(gl.exp(x - most), axis=0)) - right)


class ModelNew(nn.Module):
    def forward(self, predictions: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        rows, classes = predictions.shape
        losses = torch.empty(rows, dtype=predictions.dtype, device=predictions.device)
        block = triton.next_power_of_2(classes)
        losses_kernel[(rows,)](predictions.contiguous(), targets.contiguous(), losses, classes, BLOCK=block, num_warps=8)
        return losses.mean()


def compile_ahead():
    types = [torch.float32, torch.int64, torch.float32]
    losses_kernel.warmup(*types, 4096, BLOCK=4096, num_warps=8, grid=(1,))
