# Triton: a tile of all channels by 128 pixels stays in registers between the sum and the division.
# style: triton, tiled
# expect: faster
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def rms_norm_kernel(x_ptr, y_ptr, C, P, eps, BLOCK_C: tl.constexpr, BLOCK_P: tl.constexpr):
    sample = tl.program_id(1).to(tl.int64)
    pixels = tl.program_id(0) * BLOCK_P + tl.arange(0, BLOCK_P)
    channels = tl.arange(0, BLOCK_C)
    offsets = sample * C * P + channels[:, None] * P + pixels[None, :]
    mask = (channels[:, None] < C) & (pixels[None, :] < P)
    x = tl.load(x_ptr + offsets, mask=mask, other=0.0)
    mean_square = tl.sum(x * x, axis=0) / C
    rms = tl.sqrt(mean_square + eps)
    tl.store(y_ptr + offsets, x / rms[None, :], mask=mask)


class ModelNew(nn.Module):
    def __init__(self, num_features: int, eps: float = 1e-5):
        super().__init__()
        self.num_features = num_features
        self.eps = eps

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x.contiguous()
        B, C, H, W = x.shape
        y = torch.empty_like(x)
        P = H * W
        grid = (triton.cdiv(P, 128), B)
        rms_norm_kernel[grid](x, y, C, P, self.eps, BLOCK_C=triton.next_power_of_2(C), BLOCK_P=128, num_warps=8)
        return y
