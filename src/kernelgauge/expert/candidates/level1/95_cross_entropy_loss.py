"""Cross entropy between rows of logits and integer class indices, averaged over the batch.

Bound by memory: PyTorch writes the logarithm of the softmax and reads one value of each of its rows. Here a program
holds one row in registers and leaves one loss; a second kernel adds the losses up.

Tried on one NVIDIA H100 80GB HBM3, without gain, 1/95: half as many warps: 18 % more time.
"""

import torch
import torch.nn as nn
import triton
import triton.language as tl

from kernelgauge.expert.parts.total import total


@triton.jit
def losses(x_ptr, target_ptr, parts_ptr, classes, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    offsets = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * classes + offsets, mask=offsets < classes, other=-float("inf"))
    right = tl.load(x_ptr + row * classes + tl.load(target_ptr + row))
    most = tl.max(x, axis=0)
    tl.store(parts_ptr + row, most + tl.log(tl.sum(tl.exp(x - most), axis=0)) - right)


class ModelNew(nn.Module):
    def forward(self, predictions: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        rows, classes = predictions.shape
        parts = torch.empty(rows, dtype=torch.float32, device=predictions.device)
        block = triton.next_power_of_2(classes)
        losses[(rows,)](
            predictions.contiguous(),
            targets.contiguous(),
            parts,
            classes,
            BLOCK=block,
            num_warps=max(1, min(16, block // 512)),
        )
        return total(parts, 1.0 / rows)
