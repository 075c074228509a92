import torch
import torch.nn as nn


class Model(nn.Module):
    """Product of two rectangular matrices: (M, K) @ (K, N) -> (M, N)."""

    def forward(self, A: torch.Tensor, B: torch.Tensor) -> torch.Tensor:
        return torch.matmul(A, B)


M = 2048
K = 8192
N = 4096


def get_inputs():
    A = torch.rand(M, K)
    B = torch.rand(K, N)
    return [A, B]


def get_init_inputs():
    return []
