import torch
import torch.nn as nn


class Model(nn.Module):
    """Tall and skinny times short and wide: (M, N) @ (N, M) -> (M, M), contracted over the small N."""

    def forward(self, A: torch.Tensor, B: torch.Tensor) -> torch.Tensor:
        return torch.matmul(A, B)


M = 32768
N = 32


def get_inputs():
    A = torch.rand(M, N)
    B = torch.rand(N, M)
    return [A, B]


def get_init_inputs():
    return []
