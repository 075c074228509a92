import torch
import torch.nn as nn


class Model(nn.Module):
    """A linear layer, a layer norm, a ReLU: weights, biases and gains that a lazy kernel can drop."""

    def __init__(self, features: int):
        super().__init__()
        self.linear = nn.Linear(features, features)
        self.norm = nn.LayerNorm(features)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(self.norm(self.linear(x)))


batch_size = 128
features = 64


def get_inputs():
    return [torch.rand(batch_size, features)]


def get_init_inputs():
    return [features]
