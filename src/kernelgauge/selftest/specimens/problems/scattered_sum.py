import torch
import torch.nn as nn


class Model(nn.Module):
    """Rows added up by an index that is neither sorted nor without repetition."""

    def __init__(self, groups: int):
        super().__init__()
        self.groups = groups

    def forward(self, x: torch.Tensor, index: torch.Tensor) -> torch.Tensor:
        return torch.zeros(self.groups, x.shape[1], device=x.device).index_add_(0, index, x)


groups = 32


def get_inputs():
    return [torch.randn(512, 64), torch.randint(0, groups, (512,))]


def get_init_inputs():
    return [groups]
