import torch
import torch.nn as nn


class Model(nn.Module):
    """Product of two square matrices: (N, N) @ (N, N) -> (N, N)."""

    def forward(self, A: torch.Tensor, B: torch.Tensor) -> torch.Tensor:
        return torch.matmul(A, B)


N = 4096


def get_inputs():
    A = torch.rand(N, N)
    B = torch.rand(N, N)
    return [A, B]


def get_init_inputs():
    return []
