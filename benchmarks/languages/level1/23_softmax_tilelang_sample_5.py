import tilelang
import tilelang.language as T
import torch
import torch.nn as nn


@tilelang.jit
def softmax_kernel(rows, columns, block=8192, dtype="float32"):
    @T.prim_func
    def softmax(x: T.Tensor((rows, columns), dtype), y: T.Tensor((rows, columns), dtype)):
        # One block a row, which it reads twice: it is too long for registers. A maximum and a sum for each place of
        # the piece are merged once, at the end.
        with T.Kernel(rows, threads=512) as row:
            piece = T.alloc_fragment((1, block), dtype)
            most = T.alloc_fragment((1, block), dtype)
            total = T.alloc_fragment((1, block), dtype)
            row_most = T.alloc_fragment((1,), dtype)
            row_total = T.alloc_fragment((1,), dtype)
            T.fill(most, -3.0e38)
            T.clear(total)
            for step in T.serial(columns // block):
                T.copy(x[row : row + 1, step * block : (step + 1) * block], piece)
                for i, j in T.Parallel(1, block):
                    total[i, j] = total[i, j] * T.exp(most[i, j] - T.max(most[i, j], piece[i, j])) + T.exp(
                        piece[i, j] - T.max(most[i, j], piece[i, j])
                    )
                    most[i, j] = T.max(most[i, j], piece[i, j])
            T.reduce_max(most, row_most, dim=1)
            for i, j in T.Parallel(1, block):
                total[i, j] = total[i, j] * T.exp(most[i, j] - row_most[i])
            T.reduce_sum(total, row_total, dim=1)
            for step in T.serial(columns // block):
                T.copy(x[row : row + 1, step * block : (step + 1) * block], piece)
                for i, j in T.Parallel(1, block):
                    piece[i, j] = T.exp(piece[i, j] - row_most[i]) / row_total[i]
                T.copy(piece, y[row : row + 1, step * block : (step + 1) * block])

    return softmax


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x.contiguous()
        assert x.shape[1] % 8192 == 0, "written for rows of whole pieces"
        y = torch.empty_like(x)
        softmax_kernel(*x.shape)(x, y)
        return y


def compile_ahead():
    softmax_kernel(4096, 393216)
