import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    """Linear layer, row maximum, minus its own mean, GELU: (batch, 1)."""

    def __init__(self, in_features: int, out_features: int, max_dim: int):
        super().__init__()
        self.gemm = nn.Linear(in_features, out_features)
        self.max_dim = max_dim

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.gemm(x)
        x = torch.max(x, dim=self.max_dim, keepdim=True)[0]
        x = x - x.mean(dim=1, keepdim=True)
        x = F.gelu(x)
        return x


batch_size = 1024
in_features = 8192
out_features = 8192
max_dim = 1


def get_inputs():
    x = torch.rand(batch_size, in_features)
    return [x]


def get_init_inputs():
    return [in_features, out_features, max_dim]
