import torch
import torch.nn as nn
import triton
from triton.experimental import gluon
from triton.experimental.gluon import language as gl


@gluon.jit
def rms_norm_kernel(x_ptr, y_ptr, pixels, eps, FEATURES: gl.constexpr, BLOCK: gl.constexpr):
    """One program normalises BLOCK neighbouring pixels, all of whose features it holds in registers."""
    layout: gl.constexpr = gl.BlockedLayout([1, 4], [1, 32], [gl.num_warps(), 1], [1, 0])
    feature = gl.arange(0, FEATURES, layout=gl.SliceLayout(1, layout))
    pixel = gl.program_id(0) * BLOCK + gl.arange(0, BLOCK, layout=gl.SliceLayout(0, layout))
    first = gl.program_id(1).to(gl.int64) * FEATURES * pixels
    offsets = feature[:, None] * pixels + pixel[None, :]
    inside = (pixel < pixels)[None, :]
    x = gl.load(x_ptr + first + offsets, mask=inside, other=0.0)
    scale = 1.0 / gl.sqrt(gl.sum(x * x, axis=0) / FEATURES + eps)
    gl.store(y_ptr + first + offsets, x * scale[None, :], mask=inside)


class ModelNew(nn.Module):
    def __init__(self, num_features: int, eps: float = 1e-5):
        super().__init__()
        self.eps = eps

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x.contiguous()
        y = torch.empty_like(x)
        batch, features = x.shape[:2]
        pixels = x.numel() // (batch * features)
        grid = (triton.cdiv(pixels, 128), batch)
        rms_norm_kernel[grid](x, y, pixels, self.eps, FEATURES=features, BLOCK=128, num_warps=8)
        return y


def compile_ahead():
    constants = {"FEATURES": 64, "BLOCK": 128, "num_warps": 8}
    rms_norm_kernel.warmup(torch.float32, torch.float32, 512 * 512, 1e-5, **constants, grid=(1,))
