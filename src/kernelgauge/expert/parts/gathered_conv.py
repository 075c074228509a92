"""Convolutions of float32 without a pass that splits: a tile gathers what it reads, and weights as they lie."""

from __future__ import annotations

import torch
import triton
import triton.language as tl


@triton.jit
def _gathered(
    x_ptr, w_ptr, bias_ptr, y_ptr, channels, depth, height, width, columns, out_d, out_h, out_w,
    KD: tl.constexpr, KH: tl.constexpr, KW: tl.constexpr, SD: tl.constexpr, SH: tl.constexpr, SW: tl.constexpr,
    PD: tl.constexpr, PH: tl.constexpr, PW: tl.constexpr, DEEP: tl.constexpr, PADDED: tl.constexpr,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    """One program makes all of BN channels of BM positions of one image."""
    image = tl.program_id(1).to(tl.int64)
    across = tl.cdiv(columns, BN)
    n = tl.program_id(0) % across * BN + tl.arange(0, BN)
    m = tl.program_id(0) // across * BM + tl.arange(0, BM)
    positions = out_d * out_h * out_w
    d, h, w = m // (out_h * out_w) * SD - PD, m // out_w % out_h * SH - PH, m % out_w * SW - PW
    x_ptr += image * channels * depth * height * width
    begin = (d * height + h) * width + w
    begin = tl.where(m < positions, begin, 0)
    taps: tl.constexpr = KD * KH * KW
    total = tl.zeros((BM, BN), tl.float32)
    for start in range(0, DEEP, BK):
        k = start + tl.arange(0, BK)
        channel, tap = k // taps, k % taps
        kd, kh, kw = tap // (KH * KW), tap // KW % KH, tap % KW
        offset = ((channel * depth + kd) * height + kh) * width + kw
        inside = (k < DEEP)[None, :] & (m < positions)[:, None]
        if PADDED:
            at_d, at_h, at_w = d[:, None] + kd[None, :], h[:, None] + kh[None, :], w[:, None] + kw[None, :]
            inside &= (at_d >= 0) & (at_d < depth) & (at_h >= 0) & (at_h < height) & (at_w >= 0) & (at_w < width)
        x = tl.load(x_ptr + begin[:, None] + offset[None, :], mask=inside, other=0.0)
        weight_at = w_ptr + n[None, :] * DEEP + k[:, None]
        weight = tl.load(weight_at, mask=(n < columns)[None, :] & (k < DEEP)[:, None], other=0.0)
        total += tl.dot(x, weight, input_precision=PRECISION)
    value = tl.trans(total)
    if bias_ptr is not None:
        value += tl.load(bias_ptr + n, mask=n < columns, other=0.0)[:, None]
    y_ptr += image * columns * positions
    inside = (n < columns)[:, None] & (m < positions)[None, :]
    tl.store(y_ptr + n[:, None] * positions + m[None, :], value, mask=inside)


BM, BK, STAGES, PRECISION = 128, 32, 2, "tf32x3"


def convolve(x: torch.Tensor, conv: torch.nn.Module) -> torch.Tensor:
    """Of a plain convolution of one group, not dilated."""
    x, missing = x.contiguous(), 3 - len(conv.kernel_size)
    kernel = (1,) * missing + tuple(conv.kernel_size)
    stride, padding = (1,) * missing + tuple(conv.stride), (0,) * missing + tuple(conv.padding)
    sizes = (1,) * missing + tuple(x.shape[2:])
    out = [(n + 2 * p - k) // s + 1 for n, p, k, s in zip(sizes, padding, kernel, stride, strict=True)]
    columns, channels = conv.out_channels, conv.in_channels
    y = torch.empty(x.shape[0], columns, *out[missing:], dtype=x.dtype, device=x.device)
    positions = out[0] * out[1] * out[2]
    bn = min(128, max(16, triton.next_power_of_2(columns)))
    deep = channels * kernel[0] * kernel[1] * kernel[2]
    _gathered[triton.cdiv(positions, BM) * triton.cdiv(columns, bn), x.shape[0]](
        x, conv.weight.contiguous(), conv.bias, y, channels, *sizes, columns, *out,
        KD=kernel[0], KH=kernel[1], KW=kernel[2], SD=stride[0], SH=stride[1], SW=stride[2],
        PD=padding[0], PH=padding[1], PW=padding[2], DEEP=deep, PADDED=any(padding),
        BM=BM, BN=bn, BK=BK, PRECISION=PRECISION, num_warps=8 if bn == 128 else 4, num_stages=STAGES,
    )  # fmt: skip
    return y
