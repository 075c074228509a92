# Triton, a whole row in one program, one tl.atomic_add a row onto the sum.
# style: triton, atomics
# expect: faster
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def cross_entropy_kernel(x_ptr, t_ptr, out_ptr, stride, n_classes, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    base = x_ptr + row.to(tl.int64) * stride
    x = tl.load(base + cols, mask=cols < n_classes, other=-float("inf"))
    m = tl.max(x, axis=0)
    lse = m + tl.log(tl.sum(tl.exp(x - m), axis=0))
    target = tl.load(t_ptr + row)
    picked = tl.load(base + target)
    tl.atomic_add(out_ptr, lse - picked)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, predictions: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        predictions = predictions.contiguous()
        batch, classes = predictions.shape
        total = torch.zeros((), device=predictions.device, dtype=torch.float32)
        block = triton.next_power_of_2(classes)
        cross_entropy_kernel[(batch,)](
            predictions, targets, total, predictions.stride(0), classes, BLOCK=block, num_warps=8
        )
        return total / batch
