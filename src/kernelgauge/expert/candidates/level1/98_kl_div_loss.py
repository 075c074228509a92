"""Kullback-Leibler divergence of predicted from target distributions, summed and divided by the batch.

Bound by memory: PyTorch writes the logarithm, then the divergence of each value, and reads both again. Here one
kernel reads predictions and targets once and leaves one sum a program; a second adds those up.

Tried on one NVIDIA H100 80GB HBM3, without gain, 1/95: half as many warps: 18 % more time.
"""

import torch
import torch.nn as nn
import triton
import triton.language as tl

from kernelgauge.expert.parts.total import total


@triton.jit
def losses(a_ptr, b_ptr, parts_ptr, count, BLOCK: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = at < count
    a = tl.load(a_ptr + at, mask=inside, other=1.0)
    b = tl.load(b_ptr + at, mask=inside, other=0.0)
    tl.store(
        parts_ptr + tl.program_id(0),
        tl.sum(tl.where(b > 0.0, b * (tl.log(tl.where(b > 0.0, b, 1.0)) - tl.log(a)), 0.0 * b), axis=0),
    )


class ModelNew(nn.Module):
    def forward(self, predictions: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        predictions, targets = predictions.contiguous(), targets.contiguous()
        count = predictions.numel()
        parts = torch.empty(triton.cdiv(count, 8192), dtype=torch.float32, device=predictions.device)
        losses[(parts.numel(),)](predictions, targets, parts, count, BLOCK=8192, num_warps=8)
        return total(parts, 1.0 / predictions.shape[0])
