# A kernel of TileLang behind the library's product; on a CPU it is compiled to C.
# class: rules/own_kernel
# needs: tilelang
# kernel_policy: kernel-required
# verdict: passed
import tilelang
import tilelang.language as T
import torch
import torch.nn as nn


@tilelang.jit
def compiled(rows, columns, width=128, dtype="float32"):
    @T.prim_func
    def norm_relu(
        x: T.Tensor((rows, columns), dtype),
        mean: T.Tensor((rows,), dtype),
        scale: T.Tensor((rows,), dtype),
        gain: T.Tensor((columns,), dtype),
        bias: T.Tensor((columns,), dtype),
        y: T.Tensor((rows, columns), dtype),
    ):
        with T.Kernel(T.ceildiv(columns, width), rows, threads=128) as (bx, row):
            for i in T.Parallel(width):
                column = bx * width + i
                if column < columns:
                    value = (x[row, column] - mean[row]) * scale[row] * gain[column] + bias[column]
                    y[row, column] = T.if_then_else(value > 0, value, T.float32(0))

    return norm_relu


class ModelNew(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.linear = nn.Linear(features, features)
        self.norm = nn.LayerNorm(features)

    def forward(self, x):
        y = self.linear(x)
        out = torch.empty_like(y)
        variance, mean = torch.var_mean(y, dim=-1, correction=0)
        kernel = compiled(*y.shape)
        kernel(y, mean, torch.rsqrt(variance + self.norm.eps), self.norm.weight, self.norm.bias, out)
        return out
