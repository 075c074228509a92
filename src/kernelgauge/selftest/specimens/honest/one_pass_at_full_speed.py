# Reads and writes every byte once, where the reference makes three passes: as fast as the memory, and no faster.
# class: timing/faster_than_memory
# problem: large_map
# needs: cuda
# time: honest
# forged: 4
# verdict: passed
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def shifted_relu(x_ptr, y_ptr, count, BLOCK: tl.constexpr):
    offsets = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < count)
    tl.store(y_ptr + offsets, tl.maximum(x - 0.5, 0.0) * x, mask=offsets < count)


class ModelNew(nn.Module):
    def forward(self, x):
        out = torch.empty_like(x)
        shifted_relu[(triton.cdiv(x.numel(), 4096),)](x, out, x.numel(), BLOCK=4096)
        return out
