import tilelang
import tilelang.language as T
import torch
import torch.nn as nn


@tilelang.jit
def rms_norm_kernel(batch, features, pixels, eps, block=128, dtype="float32"):
    @T.prim_func
    def rms_norm(x: T.Tensor((batch, features, pixels), dtype), y: T.Tensor((batch, features, pixels), dtype)):
        # A block normalises 128 neighbouring pixels, all of whose features it holds in registers.
        with T.Kernel(T.ceildiv(pixels, block), batch, threads=256) as (bx, by):
            kept = T.alloc_fragment((features, block), dtype)
            squares = T.alloc_fragment((features, block), dtype)
            total = T.alloc_fragment((block,), dtype)
            T.copy(x[by, 0:features, bx * block : (bx + 1) * block], kept)
            for i, j in T.Parallel(features, block):
                squares[i, j] = kept[i, j] * kept[i, j]
            T.reduce_sum(squares, total, dim=0)
            for j in T.Parallel(block):
                total[j] = 1.0 / T.sqrt(total[j] / features + eps)
            for i, j in T.Parallel(features, block):
                kept[i, j] = kept[i, j] * total[j]
            T.copy(kept, y[by, 0:features, bx * block : (bx + 1) * block])

    return rms_norm


class ModelNew(nn.Module):
    def __init__(self, num_features: int, eps: float = 1e-5):
        super().__init__()
        self.eps = eps

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x.contiguous()
        y = torch.empty_like(x)
        batch, features = x.shape[:2]
        rms_norm_kernel(batch, features, x[0, 0].numel(), self.eps)(x.flatten(2), y.flatten(2))
        return y


def compile_ahead():
    rms_norm_kernel(112, 64, 512 * 512, 1e-5)
