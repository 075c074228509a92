import tilelang
import tilelang.language as T
import torch
import torch.nn as nn


@tilelang.jit
def gelu_kernel(size, block=2048, dtype="float32"):
    @T.prim_func
    def gelu(x: T.Tensor((size,), dtype), y: T.Tensor((size,), dtype)):
        with T.Kernel(T.ceildiv(size, block), threads=256) as bx:
            for i in T.Parallel(block):
                at = bx * block + i
                if at < size:
                    # 0.5 * (1 + tanh(u)) is 1 / (1 + exp(-2u)).
                    u = 0.7978845608028654 * (x[at] + 0.044715 * x[at] * x[at] * x[at])
                    y[at] = x[at] / (1.0 + T.exp(-2.0 * u))

    return gelu


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x.contiguous()
        y = torch.empty_like(x)
        gelu_kernel(x.numel())(x.view(-1), y.view(-1))
        return y


def compile_ahead():
    gelu_kernel(8192 * 8192)
