# Triton: a program takes a stretch of one plane and adds the k taps of its column.
# style: triton
# expect: about
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def column_conv_kernel(
    x_ptr, w_ptr, y_ptr, C, H, W, K, OH, OW, stride, padding, dilation, BLOCK: tl.constexpr
):
    plane = tl.program_id(0).to(tl.int64)
    channel = plane % C
    offs = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    oh = offs // OW
    iw = (offs % OW) * stride - padding
    acc = tl.zeros((BLOCK,), dtype=tl.float32)
    for k in range(0, K):
        ih = oh * stride - padding + k * dilation
        mask = (offs < OH * OW) & (ih >= 0) & (ih < H) & (iw >= 0) & (iw < W)
        tap = tl.load(w_ptr + channel * K + k)
        acc += tl.load(x_ptr + plane * H * W + ih * W + iw, mask=mask, other=0.0) * tap
    tl.store(y_ptr + plane * OH * OW + offs, acc, mask=offs < OH * OW)


class ModelNew(nn.Module):
    def __init__(
        self,
        in_channels: int,
        kernel_size: int,
        stride: int = 1,
        padding: int = 0,
        dilation: int = 1,
        bias: bool = False,
    ):
        super().__init__()
        self.conv2d = nn.Conv2d(
            in_channels,
            in_channels,
            (kernel_size, 1),
            stride=stride,
            padding=padding,
            dilation=dilation,
            groups=in_channels,
            bias=bias,
        )

    def forward(self, x):
        conv = self.conv2d
        x = x.contiguous()
        N, C, H, W = x.shape
        K = conv.kernel_size[0]
        s, p, d = conv.stride[0], conv.padding[0], conv.dilation[0]
        OH = (H + 2 * p - d * (K - 1) - 1) // s + 1
        OW = (W + 2 * p - 1) // s + 1
        y = torch.empty((N, C, OH, OW), device=x.device, dtype=x.dtype)
        grid = (N * C, triton.cdiv(OH * OW, 1024))
        column_conv_kernel[grid](x, conv.weight, y, C, H, W, K, OH, OW, s, p, d, BLOCK=1024)
        return y if conv.bias is None else y + conv.bias.view(1, -1, 1, 1)
