"""Convolutions of few channels on CUDA cores in float32: no tensor cores, no pass that splits, nothing gathered."""

from __future__ import annotations

import torch
import triton
import triton.language as tl


@triton.jit
def _direct(
    x_ptr, w_ptr, bias_ptr, y_ptr, depth, height, width, columns, out_d, out_h, out_w,
    CHANNELS: tl.constexpr, KD: tl.constexpr, KH: tl.constexpr, KW: tl.constexpr,
    BM: tl.constexpr, BN: tl.constexpr,
):  # fmt: skip
    """One program makes BN channels of BM positions of one image, one tap after the other."""
    image = tl.program_id(1).to(tl.int64)
    across = tl.cdiv(columns, BN)
    n = tl.program_id(0) % across * BN + tl.arange(0, BN)
    m = tl.program_id(0) // across * BM + tl.arange(0, BM)
    positions = out_d * out_h * out_w
    x_ptr += image * CHANNELS * depth * height * width
    at = tl.minimum(m, positions - 1)
    begin = (at // (out_h * out_w) * height + at // out_w % out_h) * width + at % out_w
    w_at = w_ptr + tl.minimum(n, columns - 1) * (CHANNELS * KD * KH * KW)
    total = tl.zeros((BN, BM), tl.float32)
    for c in range(0, CHANNELS):
        for d in tl.static_range(KD):
            for h in tl.static_range(KH):
                for w in tl.static_range(KW):
                    x = tl.load(x_ptr + ((c * depth + d) * height + h) * width + w + begin)
                    tap = tl.load(w_at + ((c * KD + d) * KH + h) * KW + w)
                    total += tap[:, None] * x[None, :]
    if bias_ptr is not None:
        total += tl.load(bias_ptr + n, mask=n < columns, other=0.0)[:, None]
    y_ptr += image * columns * positions
    inside = (n < columns)[:, None] & (m < positions)[None, :]
    tl.store(y_ptr + n[:, None] * positions + m[None, :], total, mask=inside)


BM, BN, WARPS = 256, 32, 4


def convolve(x: torch.Tensor, conv: torch.nn.Conv3d) -> torch.Tensor:
    """Of a plain 3D convolution of one group, stride 1, not padded, not dilated."""
    assert set(conv.stride) == {1} and set(conv.padding) == {0} and set(conv.dilation) == {1}
    sizes = x.shape[2:]
    out = [n - k + 1 for n, k in zip(sizes, conv.kernel_size, strict=True)]
    columns, positions = conv.out_channels, out[0] * out[1] * out[2]
    y = torch.empty(x.shape[0], columns, *out, dtype=x.dtype, device=x.device)
    kd, kh, kw = conv.kernel_size
    _direct[triton.cdiv(positions, BM) * triton.cdiv(columns, BN), x.shape[0]](
        x.contiguous(), conv.weight.contiguous(), conv.bias, y, *sizes, columns, *out,
        CHANNELS=conv.in_channels, KD=kd, KH=kh, KW=kw, BM=BM, BN=BN, num_warps=WARPS,
    )  # fmt: skip
    return y
