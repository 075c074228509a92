import torch
import torch.nn as nn


class Model(nn.Module):
    """Shallow and wide multilayer perceptron: a ReLU after every linear layer but the last."""

    def __init__(self, input_size: int, hidden_layer_sizes: list, output_size: int):
        super().__init__()
        layers = []
        width = input_size
        for size in hidden_layer_sizes:
            layers.append(nn.Linear(width, size))
            layers.append(nn.ReLU())
            width = size
        layers.append(nn.Linear(width, output_size))
        self.network = nn.Sequential(*layers)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.network(x)


batch_size = 128
input_size = 16384
hidden_layer_sizes = [32768, 32768]
output_size = 16384


def get_inputs():
    x = torch.rand(batch_size, input_size)
    return [x]


def get_init_inputs():
    return [input_size, hidden_layer_sizes, output_size]
