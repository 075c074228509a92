# Triton over the flat output: plane and position by division, the window's taps one after the other.
# style: triton, naive
# expect: about
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def avg_pool1d_kernel(
    x_ptr, y_ptr, total, length, out_length, stride, padding, KERNEL: tl.constexpr, BLOCK: tl.constexpr
):
    idx = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = idx < total
    plane = idx // out_length
    start = (idx % out_length) * stride - padding
    acc = tl.zeros((BLOCK,), dtype=tl.float32)
    for k in range(KERNEL):
        pos = start + k
        ok = mask & (pos >= 0) & (pos < length)
        acc += tl.load(x_ptr + plane * length + pos, mask=ok, other=0.0)
    tl.store(y_ptr + idx, acc / KERNEL, mask=mask)


class ModelNew(nn.Module):
    def __init__(self, kernel_size: int, stride: int = 1, padding: int = 0):
        super().__init__()
        self.avg_pool = nn.AvgPool1d(kernel_size, stride=stride, padding=padding)
        self.k, self.s, self.p = kernel_size, stride, padding

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x.contiguous()
        b, c, length = x.shape
        out_length = (length + 2 * self.p - self.k) // self.s + 1
        y = x.new_empty((b, c, out_length))
        total = y.numel()
        grid = (triton.cdiv(total, 512),)
        avg_pool1d_kernel[grid](x, y, total, length, out_length, self.s, self.p, KERNEL=self.k, BLOCK=512)
        return y
