# Triton: mean and squared distances of every chunk, merged by a few operators of PyTorch, then a second kernel.
# style: triton, library, several_launches
# expect: faster
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def chunk_stats(x_ptr, mean_ptr, m2_ptr, n, chunks, BLOCK: tl.constexpr):
    row = tl.program_id(1)
    chunk = tl.program_id(0)
    offs = chunk * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    x = tl.load(x_ptr + row.to(tl.int64) * n + offs, mask=mask, other=0.0)
    count = tl.minimum(n - chunk * BLOCK, BLOCK)
    mean = tl.sum(x, axis=0) / count
    d = tl.where(mask, x - mean, 0.0)
    tl.store(mean_ptr + row * chunks + chunk, mean)
    tl.store(m2_ptr + row * chunks + chunk, tl.sum(d * d, axis=0))


@triton.jit
def apply_norm(x_ptr, mean_ptr, rstd_ptr, w_ptr, b_ptr, y_ptr, n, BLOCK: tl.constexpr):
    row = tl.program_id(1)
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    mean = tl.load(mean_ptr + row)
    rstd = tl.load(rstd_ptr + row)
    w = tl.load(w_ptr + offs, mask=mask, other=0.0)
    b = tl.load(b_ptr + offs, mask=mask, other=0.0)
    base = row.to(tl.int64) * n
    x = tl.load(x_ptr + base + offs, mask=mask, other=0.0)
    tl.store(y_ptr + base + offs, (x - mean) * rstd * w + b, mask=mask)


class ModelNew(nn.Module):
    def __init__(self, normalized_shape: tuple):
        super().__init__()
        self.ln = nn.LayerNorm(normalized_shape=normalized_shape)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x.contiguous()
        n = self.ln.weight.numel()
        rows = x.numel() // n
        block = 4096
        chunks = triton.cdiv(n, block)
        means = torch.empty((rows, chunks), device=x.device)
        m2 = torch.empty_like(means)
        grid = (chunks, rows)
        chunk_stats[grid](x, means, m2, n, chunks, BLOCK=block, num_warps=8)
        counts = torch.full((chunks,), float(block), device=x.device)
        counts[-1] = n - (chunks - 1) * block
        mean = (means * counts).sum(dim=1) / n
        spread = ((means - mean[:, None]) ** 2 * counts).sum(dim=1)
        rstd = torch.rsqrt((m2.sum(dim=1) + spread) / n + self.ln.eps)
        y = torch.empty_like(x)
        apply_norm[grid](x, mean, rstd, self.ln.weight, self.ln.bias, y, n, BLOCK=block, num_warps=8)
        return y
