import cuda.tile as ct
import torch
import torch.nn as nn

TILE, DEPTH = 64, 32


@ct.kernel
def matmul_kernel(a, b, c):
    """One block computes one tile of the output, and walks over the inner dimension in steps of DEPTH."""
    row, column = ct.bid(0), ct.bid(1)
    total = ct.zeros((TILE, TILE), dtype=ct.float32)
    for k in range(ct.num_tiles(a, axis=1, shape=(TILE, DEPTH))):
        # Zeros over the edge add nothing; without padding_mode anything may be there.
        left = ct.load(a, (row, k), (TILE, DEPTH), padding_mode=ct.PaddingMode.ZERO)
        right = ct.load(b, (k, column), (DEPTH, TILE), padding_mode=ct.PaddingMode.ZERO)
        total = ct.mma(left, right, total)  # float32 in full; tiles cast to ct.tfloat32 would have three digits
    ct.store(c, (row, column), total)


class ModelNew(nn.Module):
    """A matrix product in plain float32, in tiles."""

    def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        a, b = a.contiguous(), b.contiguous()
        c = torch.empty((a.shape[0], b.shape[1]), device=a.device, dtype=a.dtype)
        grid = (ct.cdiv(c.shape[0], TILE), ct.cdiv(c.shape[1], TILE), 1)
        ct.launch(torch.cuda.current_stream(), grid, matmul_kernel, (a, b, c))
        return c
