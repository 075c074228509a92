# Triton: one product of channels for each tap, added in registers.
# style: triton
# expect: slower
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def conv1d_kernel(
    x_ptr, w_ptr, y_ptr, C, L, O, K, OL, stride, padding, dilation,
    BO: tl.constexpr, BL: tl.constexpr, BC: tl.constexpr,
):
    n = tl.program_id(2).to(tl.int64)
    ro = tl.program_id(1) * BO + tl.arange(0, BO)
    rl = tl.program_id(0) * BL + tl.arange(0, BL)
    acc = tl.zeros((BO, BL), dtype=tl.float32)
    for k in range(0, K):
        position = rl * stride - padding + k * dilation
        inside = (rl < OL) & (position >= 0) & (position < L)
        for c0 in range(0, C, BC):
            rc = c0 + tl.arange(0, BC)
            w = tl.load(
                w_ptr + (ro[:, None] * C + rc[None, :]) * K + k,
                mask=(ro[:, None] < O) & (rc[None, :] < C), other=0.0,
            )
            x = tl.load(
                x_ptr + (n * C + rc[:, None]) * L + position[None, :],
                mask=(rc[:, None] < C) & inside[None, :], other=0.0,
            )
            acc += tl.dot(w, x, input_precision="ieee")
    tl.store(y_ptr + (n * O + ro[:, None]) * OL + rl[None, :], acc, mask=(ro[:, None] < O) & (rl[None, :] < OL))


class ModelNew(nn.Module):
    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: int,
        stride: int = 1,
        padding: int = 0,
        dilation: int = 1,
        groups: int = 1,
        bias: bool = False,
    ):
        super().__init__()
        self.conv1d = nn.Conv1d(
            in_channels,
            out_channels,
            kernel_size,
            stride=stride,
            padding=padding,
            dilation=dilation,
            groups=groups,
            bias=bias,
        )

    def forward(self, x):
        conv = self.conv1d
        assert conv.groups == 1
        x = x.contiguous()
        N, C, L = x.shape
        O, _, K = conv.weight.shape
        s, p, d = conv.stride[0], conv.padding[0], conv.dilation[0]
        OL = (L + 2 * p - d * (K - 1) - 1) // s + 1
        y = torch.empty((N, O, OL), device=x.device, dtype=x.dtype)
        grid = (triton.cdiv(OL, 128), triton.cdiv(O, 64), N)
        conv1d_kernel[grid](x, conv.weight, y, C, L, O, K, OL, s, p, d, BO=64, BL=128, BC=32, num_warps=8)
        return y if conv.bias is None else y + conv.bias.view(1, -1, 1)
