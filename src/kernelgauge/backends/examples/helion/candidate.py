import helion
import helion.language as hl
import torch
import torch.nn as nn


# One configuration, so that nothing is searched for: tiles of 4 rows and 256 columns.
@helion.kernel(config=helion.Config(block_sizes=[4, 256], num_warps=4), static_shapes=True)
def residual(x: torch.Tensor, branch: torch.Tensor, gain: torch.Tensor) -> torch.Tensor:
    """What is in the loop becomes one kernel, a program for each tile; edges are masked by themselves."""
    y = torch.empty_like(x)
    for row, column in hl.tile(x.size()):
        y[row, column] = x[row, column] + branch[row, column] * gain[column]
    return y


class ModelNew(nn.Module):
    """A residual sum in one pass over memory."""

    def __init__(self, features: int):
        super().__init__()
        # The same parameters in the same order as the reference: one seed gives both the same values.
        self.gain = nn.Parameter(torch.ones(features))

    def forward(self, x: torch.Tensor, branch: torch.Tensor) -> torch.Tensor:
        columns = x.shape[-1]
        return residual(x.reshape(-1, columns), branch.reshape(-1, columns), self.gain.detach()).view(x.shape)
