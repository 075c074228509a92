import torch
import torch.nn as nn


class Model(nn.Module):
    """Linear layer, normalisation of each row over its features, plus y, times y."""

    def __init__(self, in_features: int, out_features: int, eps: float = 1e-5, momentum: float = 0.1):
        super().__init__()
        self.bmm = nn.Linear(in_features, out_features)
        self.instance_norm = nn.InstanceNorm2d(out_features, eps=eps, momentum=momentum)

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        x = self.bmm(x)
        x = self.instance_norm(x.unsqueeze(1).unsqueeze(1)).squeeze(1).squeeze(1)
        x = x + y
        x = x * y
        return x


batch_size = 1024
in_features = 8192
out_features = 8192


def get_inputs():
    x = torch.rand(batch_size, in_features)
    y = torch.rand(batch_size, out_features)
    return [x, y]


def get_init_inputs():
    return [in_features, out_features]
