import torch
import torch.nn as nn


class Model(nn.Module):
    """Linear layer, per-feature scale, batch normalisation in training mode."""

    def __init__(
        self,
        in_features: int,
        out_features: int,
        scale_shape: tuple,
        eps: float = 1e-5,
        momentum: float = 0.1,
    ):
        super().__init__()
        self.gemm = nn.Linear(in_features, out_features)
        self.scale = nn.Parameter(torch.randn(scale_shape))
        self.bn = nn.BatchNorm1d(out_features, eps=eps, momentum=momentum)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.gemm(x)
        x = x * self.scale
        x = self.bn(x)
        return x


batch_size = 1024
in_features = 8192
out_features = 8192
scale_shape = (out_features,)


def get_inputs():
    x = torch.rand(batch_size, in_features)
    return [x]


def get_init_inputs():
    return [in_features, out_features, scale_shape]
