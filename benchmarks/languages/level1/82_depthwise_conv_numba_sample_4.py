import torch
import torch.nn as nn
from numba import cuda, float32

THREADS = 128
ROWS = 16


@cuda.jit
def depthwise_kernel(x, weight, y, channels, height, width):
    """A thread goes down one column; the three rows that an output needs slide through registers."""
    column = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    top = cuda.blockIdx.y * ROWS
    plane = cuda.blockIdx.z
    out_height, out_width = height - 2, width - 2
    if column < out_width:
        w = (plane % channels) * 9
        w0, w1, w2 = weight[w], weight[w + 1], weight[w + 2]
        w3, w4, w5 = weight[w + 3], weight[w + 4], weight[w + 5]
        w6, w7, w8 = weight[w + 6], weight[w + 7], weight[w + 8]
        at = (plane * height + top) * width + column
        to = (plane * out_height + top) * out_width + column
        a0, a1, a2 = x[at], x[at + 1], x[at + 2]
        at += width
        b0, b1, b2 = x[at], x[at + 1], x[at + 2]
        rows = out_height - top
        rows = ROWS if rows > ROWS else rows
        # Two rows at a time: loads do not pass stores, so they come first.
        for _ in range(rows // 2):
            at += width
            c0, c1, c2 = x[at], x[at + 1], x[at + 2]
            at += width
            d0, d1, d2 = x[at], x[at + 1], x[at + 2]
            upper = (a0 * w0 + a1 * w1 + a2 * w2) + (b0 * w3 + b1 * w4 + b2 * w5)
            lower = (b0 * w0 + b1 * w1 + b2 * w2) + (c0 * w3 + c1 * w4 + c2 * w5)
            y[to] = upper + (c0 * w6 + c1 * w7 + c2 * w8)
            y[to + out_width] = lower + (d0 * w6 + d1 * w7 + d2 * w8)
            to += 2 * out_width
            a0, a1, a2 = c0, c1, c2
            b0, b1, b2 = d0, d1, d2
        if rows % 2:
            at += width
            c0, c1, c2 = x[at], x[at + 1], x[at + 2]
            total = (a0 * w0 + a1 * w1 + a2 * w2) + (b0 * w3 + b1 * w4 + b2 * w5)
            y[to] = total + (c0 * w6 + c1 * w7 + c2 * w8)


def flat(tensor):
    tensor = tensor.detach().reshape(-1)
    return cuda.as_cuda_array(tensor) if tensor.is_cuda else tensor.numpy()


def current_stream(tensor):
    return cuda.external_stream(torch.cuda.current_stream().cuda_stream) if tensor.is_cuda else 0


class ModelNew(nn.Module):
    def __init__(self, in_channels: int, kernel_size: int, stride: int = 1, padding: int = 0, bias: bool = False):
        super().__init__()
        assert (kernel_size, stride, padding, bias) == (3, 1, 0, False), "written for this problem's windows"
        self.conv2d = nn.Conv2d(in_channels, in_channels, kernel_size, groups=in_channels, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x.contiguous()
        batch, channels, height, width = x.shape
        y = torch.empty(batch, channels, height - 2, width - 2, dtype=x.dtype, device=x.device)
        threads = THREADS if x.is_cuda else 8  # the simulator starts a thread of Python for each
        blocks = (-(-(width - 2) // threads), -(-(height - 2) // ROWS), batch * channels)
        arguments = (flat(x), flat(self.conv2d.weight), flat(y), channels, height, width)
        depthwise_kernel[blocks, threads, current_stream(x)](*arguments)
        return y
