import torch
import torch.nn as nn


class Model(nn.Module):
    """Product with both matrices stored transposed: (K, M)^T @ (N, K)^T -> (M, N)."""

    def forward(self, A: torch.Tensor, B: torch.Tensor) -> torch.Tensor:
        return torch.matmul(A.T, B.T)


M = 2048
K = 8192
N = 4096


def get_inputs():
    A = torch.rand(K, M)
    B = torch.rand(N, K)
    return [A, B]


def get_init_inputs():
    return []
