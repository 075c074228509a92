import helion
import helion.language as hl
import torch
import torch.nn as nn


@helion.kernel(config=helion.Config(block_sizes=[1], reduction_loops=[None], num_warps=8), static_shapes=True)
def losses(x: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    """A row stays in registers."""
    rows, classes = x.size()
    flat = x.view(-1)
    out = torch.empty([rows], dtype=x.dtype, device=x.device)
    for row in hl.tile(rows):
        right = hl.load(flat, [row.index * classes + targets[row]])
        value = x[row, :]
        most = torch.amax(value, dim=1)
        out[row] = most + torch.log(torch.exp(value - most[:, None]).sum(1)) - right
    return out


class ModelNew(nn.Module):
    def forward(self, predictions: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        return losses(predictions.contiguous(), targets.contiguous()).mean()
