# Triton: a program a row keeps a vector of partial sums and writes one value; torch.sum over the rows.
# style: triton, library
# expect: faster
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def kl_rows_kernel(p_ptr, t_ptr, out_ptr, n_cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    base = row.to(tl.int64) * n_cols
    acc = tl.zeros((BLOCK,), dtype=tl.float32)
    for start in range(0, n_cols, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        mask = cols < n_cols
        p = tl.load(p_ptr + base + cols, mask=mask, other=1.0)
        t = tl.load(t_ptr + base + cols, mask=mask, other=0.0)
        t_log_t = tl.where(t > 0.0, t * tl.log(tl.where(t > 0.0, t, 1.0)), 0.0)
        acc += t_log_t - t * tl.log(p)
    tl.store(out_ptr + row, tl.sum(acc, axis=0))


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, predictions: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        predictions, targets = predictions.contiguous(), targets.contiguous()
        batch, cols = predictions.shape
        rows = torch.empty(batch, device=predictions.device, dtype=torch.float32)
        kl_rows_kernel[(batch,)](predictions, targets, rows, cols, BLOCK=1024)
        return rows.sum() / batch
