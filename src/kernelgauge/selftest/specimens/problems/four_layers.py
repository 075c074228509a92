import torch
import torch.nn as nn


class Model(nn.Module):
    """Milliseconds of arithmetic on little data: whoever skips or hides it gains a lot."""

    def __init__(self, features: int):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(features, features) for _ in range(4))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for layer in self.layers:
            x = torch.relu(layer(x))
        return x


rows, features = 512, 768
# on a GPU: rows, features = 4096, 4096


def get_inputs():
    return [torch.rand(rows, features)]


def get_init_inputs():
    return [features]
