"""Linear layer, max pooling along its features, sum of each row, times a constant: (batch,).

Bound by the arithmetic of the product, which float32 would do on CUDA cores. Here each operand is two float16
halves and the product three on tensor cores, as precise as float32 (`parts/split_gemm.py`). What follows takes
whole rows, and is a second kernel over rows that still lie in the L2 cache.
"""

import torch
import torch.nn as nn
import triton
import triton.language as tl

from kernelgauge.expert.parts.linear import linear


@triton.jit
def finish(x_ptr, y_ptr, scale, columns, outputs, SIZE: tl.constexpr, WIDTH: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    total = tl.zeros((BLOCK,), tl.float32)
    within = tl.arange(0, WIDTH)
    for start in range(0, outputs, BLOCK):
        output = start + tl.arange(0, BLOCK)
        at = row * columns + output[:, None] * SIZE + within[None, :]
        inside = (output < outputs)[:, None] & (within < SIZE)[None, :]
        most = tl.max(tl.load(x_ptr + at, mask=inside, other=-float("inf")), axis=1)
        total += tl.where(output < outputs, most, 0.0)
    tl.store(y_ptr + row, tl.sum(total, axis=0) * scale)


class ModelNew(nn.Module):
    def __init__(self, in_features: int, out_features: int, kernel_size: int, scale_factor: float):
        super().__init__()
        self.matmul = nn.Linear(in_features, out_features)
        self.max_pool = nn.MaxPool1d(kernel_size)
        self.scale_factor = scale_factor

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = linear(x, self.matmul.weight, tensors=(self.matmul.bias,))
        y = torch.empty(x.shape[0], dtype=x.dtype, device=x.device)
        size, columns = self.max_pool.kernel_size, x.shape[1]
        width = triton.next_power_of_2(size)
        finish[(x.shape[0],)](
            x,
            y,
            self.scale_factor,
            columns,
            columns // size,
            SIZE=size,
            WIDTH=width,
            BLOCK=4096 // width,
            num_warps=8,
        )
        return y
