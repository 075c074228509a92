import torch
import torch.nn as nn
import torch.nn.functional as F


class ModelNew(nn.Module):
    """Nine passes over memory become two: the addition, and PyTorch's own kernel for this very formula."""

    def __init__(self, features: int):
        super().__init__()
        self.bias = nn.Parameter(torch.zeros(features))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        # x + 0.044715 x^3 under tanh is what approximate="tanh" computes, and not what F.gelu computes by itself.
        return F.gelu(x + self.bias, approximate="tanh")
