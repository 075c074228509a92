"""1D average pooling; the zeros of the padding count in the averages.

Bound by memory: each input is read once and each output written once. PyTorch's kernel divides to find where each
output belongs. Here a program makes a tile of one plane; its windows overlap in the L1 cache.
"""

import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def pool(
    x_ptr,
    y_ptr,
    length,
    out_length,
    SIZE: tl.constexpr,
    STRIDE: tl.constexpr,
    PADDING: tl.constexpr,
    BLOCK: tl.constexpr,
):
    row = tl.program_id(1).to(tl.int64)
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), tl.float32)
    for i in tl.static_range(SIZE):
        place = at * STRIDE - PADDING + i
        inside = (place >= 0) & (place < length)
        total += tl.load(x_ptr + row * length + place, mask=inside, other=0.0)
    tl.store(y_ptr + row * out_length + at, total / SIZE, mask=at < out_length)


class ModelNew(nn.Module):
    def __init__(self, kernel_size: int, stride: int = 1, padding: int = 0):
        super().__init__()
        self.avg_pool = nn.AvgPool1d(kernel_size, stride=stride, padding=padding)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        (size,), (stride,), (padding,) = self.avg_pool.kernel_size, self.avg_pool.stride, self.avg_pool.padding
        length = x.shape[-1]
        out_length = (length + 2 * padding - size) // stride + 1
        y = torch.empty(*x.shape[:-1], out_length, dtype=x.dtype, device=x.device)
        pool[triton.cdiv(out_length, 1024), x.numel() // length](
            x.contiguous(), y, length, out_length, SIZE=size, STRIDE=stride, PADDING=padding, BLOCK=1024
        )
        return y
