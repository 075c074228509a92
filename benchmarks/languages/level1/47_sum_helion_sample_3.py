import helion
import helion.language as hl
import torch
import torch.nn as nn

CONFIG = helion.Config(block_sizes=[32, 1, 128], loop_orders=[[1, 0]], num_warps=4)


@helion.kernel(config=CONFIG, static_shapes=True)
def summed(x: torch.Tensor) -> torch.Tensor:
    batch, length, columns = x.size()
    y = torch.empty([batch, columns], dtype=x.dtype, device=x.device)
    rows = hl.register_block_size(length)
    for sample, column in hl.tile([batch, columns]):
        total = hl.zeros([sample, rows, column], dtype=torch.float32)  # rows are added to each other once, at the end
        for row in hl.tile(length, block_size=rows):
            total += x[sample, row, column]
        y[sample, column] = total.sum(1)
    return y


class ModelNew(nn.Module):
    def __init__(self, dim: int):
        super().__init__()
        assert dim == 1, "written for the middle dimension of three"

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return summed(x.contiguous()).unsqueeze(1)
