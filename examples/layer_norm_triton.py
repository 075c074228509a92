"""Layer normalisation in Triton: an answer to problem 1/40 of the suite.

kernelgauge eval 1/40 examples/layer_norm_triton.py                # on a GPU
kernelgauge eval 1/40 examples/layer_norm_triton.py --sizes small  # on a CPU, by the interpreter

There are few rows, and each is long. So many programs share a row: one kernel measures blocks of it, PyTorch merges
what they found, and a second kernel normalises.
"""

import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def measure(x_ptr, mean_ptr, squares_ptr, columns, blocks, BLOCK: tl.constexpr):
    """Mean of a block, and the sum of squared distances from it: sums of plain squares would cancel."""
    row = tl.program_id(1)
    block = tl.program_id(0)
    offsets = block * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < columns
    x = tl.load(x_ptr + row.to(tl.int64) * columns + offsets, mask=inside, other=0.0)
    mean = tl.sum(x, axis=0) / tl.minimum(columns - block * BLOCK, BLOCK)
    distance = tl.where(inside, x - mean, 0.0)
    tl.store(mean_ptr + row * blocks + block, mean)
    tl.store(squares_ptr + row * blocks + block, tl.sum(distance * distance, axis=0))


@triton.jit
def normalise(x_ptr, mean_ptr, scale_ptr, weight_ptr, bias_ptr, y_ptr, columns, BLOCK: tl.constexpr):
    row = tl.program_id(1)
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < columns
    mean = tl.load(mean_ptr + row)
    scale = tl.load(scale_ptr + row)
    weight = tl.load(weight_ptr + offsets, mask=inside, other=0.0)
    bias = tl.load(bias_ptr + offsets, mask=inside, other=0.0)
    start = row.to(tl.int64) * columns
    x = tl.load(x_ptr + start + offsets, mask=inside, other=0.0)
    tl.store(y_ptr + start + offsets, (x - mean) * scale * weight + bias, mask=inside)


class ModelNew(nn.Module):
    def __init__(self, normalized_shape: tuple):
        super().__init__()
        # The same layer as the reference has: one seed gives both the same parameters.
        self.ln = nn.LayerNorm(normalized_shape=normalized_shape)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x.contiguous()
        columns = self.ln.weight.numel()
        rows = x.numel() // columns
        block = 4096
        blocks = triton.cdiv(columns, block)
        means = torch.empty((rows, blocks), device=x.device)
        squares = torch.empty_like(means)
        measure[(blocks, rows)](x, means, squares, columns, blocks, BLOCK=block, num_warps=8)

        counts = torch.full((blocks,), float(block), device=x.device)
        counts[-1] = columns - (blocks - 1) * block
        mean = (means * counts).sum(dim=1) / columns
        between = ((means - mean[:, None]) ** 2 * counts).sum(dim=1)
        scale = torch.rsqrt((squares.sum(dim=1) + between) / columns + self.ln.eps)

        y = torch.empty_like(x)
        normalise[(blocks, rows)](x, mean, scale, self.ln.weight, self.ln.bias, y, columns, BLOCK=block, num_warps=8)
        return y
