import torch
import torch.nn as nn


class Model(nn.Module):
    """Matrix times a single column: (M, K) @ (K, 1) -> (M, 1)."""

    def forward(self, A: torch.Tensor, B: torch.Tensor) -> torch.Tensor:
        return torch.matmul(A, B)


M = 2048
K = 1048576


def get_inputs():
    A = torch.rand(M, K)
    B = torch.rand(K, 1)
    return [A, B]


def get_init_inputs():
    return []
