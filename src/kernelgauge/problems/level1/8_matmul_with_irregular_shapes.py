import torch
import torch.nn as nn


class Model(nn.Module):
    """Matrix product whose three sizes are odd numbers: (M, K) @ (K, N) -> (M, N)."""

    def forward(self, A: torch.Tensor, B: torch.Tensor) -> torch.Tensor:
        return torch.matmul(A, B)


M = 8205
K = 2949
N = 5921


def get_inputs():
    A = torch.rand(M, K)
    B = torch.rand(K, N)
    return [A, B]


def get_init_inputs():
    return []
