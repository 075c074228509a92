import cuda.tile as ct
import torch
import torch.nn as nn

ROWS, COLUMNS = 4, 256  # of a tile: powers of two, the tensor need not be whole tiles


@ct.kernel
def residual_kernel(x, branch, gain, y):
    """One block computes one tile, which the compiler spreads over its threads."""
    row, column = ct.bid(0), ct.bid(1)
    a = ct.load(x, (row, column), (ROWS, COLUMNS))
    b = ct.load(branch, (row, column), (ROWS, COLUMNS))
    # What lies over the edge is loaded as anything, and not stored.
    weight = ct.reshape(ct.load(gain, (column,), (COLUMNS,)), (1, COLUMNS))
    ct.store(y, (row, column), a + b * weight)


class ModelNew(nn.Module):
    """A residual sum in one pass over memory."""

    def __init__(self, features: int):
        super().__init__()
        # The same parameters in the same order as the reference: one seed gives both the same values.
        self.gain = nn.Parameter(torch.ones(features))

    def forward(self, x: torch.Tensor, branch: torch.Tensor) -> torch.Tensor:
        columns = x.shape[-1]
        y = torch.empty_like(x, memory_format=torch.contiguous_format)
        tensors = [each.reshape(-1, columns) for each in (x, branch)]
        grid = (ct.cdiv(tensors[0].shape[0], ROWS), ct.cdiv(columns, COLUMNS), 1)
        # On PyTorch's own stream, which is the one that is timed.
        arguments = (*tensors, self.gain.detach(), y.view(-1, columns))
        ct.launch(torch.cuda.current_stream(), grid, residual_kernel, arguments)
        return y
