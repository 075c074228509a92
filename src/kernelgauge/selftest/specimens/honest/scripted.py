# Has PyTorch's own compiler for scripts build its forward.
# class: process/reference_call
# verdict: passed
import warnings

import torch
import torch.nn as nn

warnings.filterwarnings("ignore", category=DeprecationWarning)


@torch.jit.script
def kernel(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    return torch.addmm(bias, x, weight.t())


class ModelNew(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.linear = nn.Linear(features, features)
        self.norm = nn.LayerNorm(features)

    def forward(self, x):
        return torch.relu(self.norm(kernel(x, self.linear.weight, self.linear.bias)))
