import torch
import torch.nn as nn


class Model(nn.Module):
    """Matrix product with a short contracted dimension: (M, K) @ (K, N) -> (M, N)."""

    def forward(self, A: torch.Tensor, B: torch.Tensor) -> torch.Tensor:
        return torch.matmul(A, B)


M = 32768
N = 32768
K = 64


def get_inputs():
    A = torch.rand(M, K)
    B = torch.rand(K, N)
    return [A, B]


def get_init_inputs():
    return []
