import torch
import torch.nn as nn


class Model(nn.Module):
    """DenseNet block: every layer reads all features so far and appends growth_rate new ones."""

    def __init__(self, num_layers: int, num_input_features: int, growth_rate: int):
        super().__init__()
        self.layers = nn.ModuleList()
        for i in range(num_layers):
            num_features = num_input_features + i * growth_rate
            layer = nn.Sequential(
                nn.BatchNorm2d(num_features),
                nn.ReLU(inplace=True),
                nn.Conv2d(num_features, growth_rate, kernel_size=3, padding=1, bias=False),
                nn.Dropout(p=0.0),
            )
            self.layers.append(layer)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for layer in self.layers:
            x = torch.cat([x, layer(x)], dim=1)
        return x


batch_size = 10
num_layers = 6
num_input_features = 32
growth_rate = 32
height = 224
width = 224


def get_inputs():
    x = torch.rand(batch_size, num_input_features, height, width)
    return [x]


def get_init_inputs():
    return [num_layers, num_input_features, growth_rate]
