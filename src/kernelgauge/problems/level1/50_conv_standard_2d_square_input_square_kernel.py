import torch
import torch.nn as nn


class Model(nn.Module):
    """The first convolution of AlexNet, with a bias: 3 -> 96 channels, stride 4. num_classes is ignored."""

    def __init__(self, num_classes: int):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 96, kernel_size=11, stride=4, padding=2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.conv1(x)


batch_size = 256
height = 224
width = 224
num_classes = 1000


def get_inputs():
    x = torch.rand(batch_size, 3, height, width)
    return [x]


def get_init_inputs():
    return [num_classes]
