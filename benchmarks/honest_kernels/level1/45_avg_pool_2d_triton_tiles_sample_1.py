# Triton: 128 outputs of one row a program, a doubly nested static loop over the window.
# style: triton, naive
# expect: about
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def avg_pool2d_kernel(x_ptr, y_ptr, H, W, OH, OW, stride, pad, K: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    plane = (row // OH).to(tl.int64)
    oh = row % OH
    ow = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    acc = tl.zeros((BLOCK,), tl.float32)
    for i in range(K):
        h = oh * stride - pad + i
        if (h >= 0) & (h < H):
            for j in range(K):
                w = ow * stride - pad + j
                mask = (w >= 0) & (w < W) & (ow < OW)
                acc += tl.load(x_ptr + plane * H * W + h * W + w, mask=mask, other=0.0)
    tl.store(y_ptr + row.to(tl.int64) * OW + ow, acc / (K * K), mask=ow < OW)


class ModelNew(nn.Module):
    def __init__(self, kernel_size: int, stride: int = None, padding: int = 0):
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = kernel_size if stride is None else stride
        self.padding = padding

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x.contiguous()
        n, c, h, w = x.shape
        oh = (h + 2 * self.padding - self.kernel_size) // self.stride + 1
        ow = (w + 2 * self.padding - self.kernel_size) // self.stride + 1
        y = torch.empty((n, c, oh, ow), device=x.device, dtype=x.dtype)
        grid = (n * c * oh, triton.cdiv(ow, 128))
        avg_pool2d_kernel[grid](x, y, h, w, oh, ow, self.stride, self.padding, K=self.kernel_size, BLOCK=128)
        return y
