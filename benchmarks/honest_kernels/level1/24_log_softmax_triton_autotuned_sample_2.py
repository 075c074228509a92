# Triton, three loops over the row with vectors of partial results, autotuned over three block sizes.
# style: triton
# expect: about
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.autotune(
    configs=[
        triton.Config({"BLOCK": 1024}, num_warps=4),
        triton.Config({"BLOCK": 4096}, num_warps=8),
        triton.Config({"BLOCK": 8192}, num_warps=16),
    ],
    key=["n_cols"],
)
@triton.jit
def log_softmax_kernel(x_ptr, y_ptr, n_cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    x_ptr += row.to(tl.int64) * n_cols
    y_ptr += row.to(tl.int64) * n_cols
    offs = tl.arange(0, BLOCK)
    m = tl.full((BLOCK,), -float("inf"), tl.float32)
    for start in range(0, n_cols, BLOCK):
        x = tl.load(x_ptr + start + offs, mask=start + offs < n_cols, other=-float("inf"))
        m = tl.maximum(m, x)
    row_max = tl.max(m, axis=0)
    acc = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, n_cols, BLOCK):
        x = tl.load(x_ptr + start + offs, mask=start + offs < n_cols, other=-float("inf"))
        acc += tl.exp(x - row_max)
    lse = row_max + tl.log(tl.sum(acc, axis=0))
    for start in range(0, n_cols, BLOCK):
        mask = start + offs < n_cols
        x = tl.load(x_ptr + start + offs, mask=mask)
        tl.store(y_ptr + start + offs, x - lse, mask=mask)


class ModelNew(nn.Module):
    def __init__(self, dim: int = 1):
        super().__init__()
        self.dim = dim

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x.contiguous()
        y = torch.empty_like(x)
        log_softmax_kernel[(x.shape[0],)](x, y, x.shape[1])
        return y
