"""3D average pooling; the zeros of the padding count in the averages.

Bound by memory: each input is read once and each output written once. PyTorch's kernel divides to find where each
output belongs. Here a program makes a tile of one plane; its windows overlap in the L1 cache.
"""

import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def pool(
    x_ptr, y_ptr, depth, height, width, out_depth, out_height, out_width,
    SIZE: tl.constexpr, STRIDE: tl.constexpr, PADDING: tl.constexpr, DILATION: tl.constexpr,
    ROWS: tl.constexpr, COLS: tl.constexpr,
):  # fmt: skip
    slab = tl.program_id(2).to(tl.int64)
    plane, front = slab // out_depth, slab % out_depth
    row = tl.program_id(1) * ROWS + tl.arange(0, ROWS)
    col = tl.program_id(0) * COLS + tl.arange(0, COLS)
    total = tl.zeros((ROWS, COLS), tl.float32)
    for h in tl.static_range(SIZE):
        back = front * STRIDE - PADDING + h * DILATION
        if back >= 0 and back < depth:
            for i in tl.static_range(SIZE):
                down = row * STRIDE - PADDING + i * DILATION
                for j in tl.static_range(SIZE):
                    across = col * STRIDE - PADDING + j * DILATION
                    inside = ((down >= 0) & (down < height))[:, None] & ((across >= 0) & (across < width))[None, :]
                    at = ((plane * depth + back) * height + down[:, None]) * width + across[None, :]
                    total += tl.load(x_ptr + at, mask=inside, other=0.0)
    inside = (row < out_height)[:, None] & (col < out_width)[None, :]
    tl.store(
        y_ptr + (slab * out_height + row[:, None]) * out_width + col[None, :],
        total / (SIZE * SIZE * SIZE),
        mask=inside,
    )


class ModelNew(nn.Module):
    def __init__(self, kernel_size: int, stride: int | None = None, padding: int = 0):
        super().__init__()
        self.avg_pool = nn.AvgPool3d(kernel_size, stride=stride, padding=padding)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        pool_ = self.avg_pool
        size, stride, padding, dilation = pool_.kernel_size, pool_.stride, pool_.padding, 1
        batch, channels, depth, height, width = x.shape
        out = [(n + 2 * padding - dilation * (size - 1) - 1) // stride + 1 for n in (depth, height, width)]
        y = torch.empty(batch, channels, *out, dtype=x.dtype, device=x.device)
        grid = (triton.cdiv(out[2], 128), triton.cdiv(out[1], 8), batch * channels * out[0])
        pool[grid](
            x.contiguous(), y, depth, height, width, *out,
            SIZE=size, STRIDE=stride, PADDING=padding, DILATION=dilation, ROWS=8, COLS=128, num_warps=4,
        )  # fmt: skip
        return y
