# Triton: 256 outputs of one channel a program, a loop over the taps with masked loads.
# style: triton, naive
# expect: faster
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def max_pool1d_kernel(x_ptr, y_ptr, L, L_out, stride, padding, dilation, K: tl.constexpr, BLOCK: tl.constexpr):
    plane = tl.program_id(0).to(tl.int64)
    out_pos = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    start = out_pos * stride - padding
    best = tl.full((BLOCK,), -float("inf"), dtype=tl.float32)
    for k in range(K):
        pos = start + k * dilation
        valid = (pos >= 0) & (pos < L)
        value = tl.load(x_ptr + plane * L + pos, mask=valid, other=-float("inf"))
        best = tl.maximum(best, value)
    tl.store(y_ptr + plane * L_out + out_pos, best, mask=out_pos < L_out)


class ModelNew(nn.Module):
    def __init__(self, kernel_size, stride=None, padding=0, dilation=1, return_indices=False):
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = stride or kernel_size
        self.padding = padding
        self.dilation = dilation
        self.return_indices = return_indices
        assert not return_indices

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x.contiguous()
        B, C, L = x.shape
        L_out = (L + 2 * self.padding - self.dilation * (self.kernel_size - 1) - 1) // self.stride + 1
        y = torch.empty((B, C, L_out), device=x.device, dtype=x.dtype)
        grid = (B * C, triton.cdiv(L_out, 256))
        max_pool1d_kernel[grid](
            x, y, L, L_out, self.stride, self.padding, self.dilation, K=self.kernel_size, BLOCK=256
        )
        return y
