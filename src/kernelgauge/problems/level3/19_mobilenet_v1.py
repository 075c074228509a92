import torch
import torch.nn as nn


class Model(nn.Module):
    """MobileNet v1: thirteen depthwise-separable units behind a 3x3 convolution, then a linear layer.

    `alpha` scales all widths. The 7x7 average pooling must leave a single pixel.
    """

    def __init__(self, num_classes: int, input_channels: int, alpha: float):
        super().__init__()
        channels = int(32 * alpha)
        layers = [
            nn.Sequential(
                nn.Conv2d(input_channels, channels, kernel_size=3, stride=2, padding=1, bias=False),
                nn.BatchNorm2d(channels),
                nn.ReLU(inplace=True),
            )
        ]
        for width, stride in [
            (64, 1),
            (128, 2),
            (128, 1),
            (256, 2),
            (256, 1),
            (512, 2),
            (512, 1),
            (512, 1),
            (512, 1),
            (512, 1),
            (512, 1),
            (1024, 2),
            (1024, 1),
        ]:
            layers.append(self._make_unit(channels, int(width * alpha), stride))
            channels = int(width * alpha)
        layers.append(nn.AvgPool2d(kernel_size=7))
        self.model = nn.Sequential(*layers)
        self.fc = nn.Linear(channels, num_classes)

    def _make_unit(self, in_channels: int, out_channels: int, stride: int) -> nn.Sequential:
        return nn.Sequential(
            nn.Conv2d(
                in_channels,
                in_channels,
                kernel_size=3,
                stride=stride,
                padding=1,
                groups=in_channels,
                bias=False,
            ),
            nn.BatchNorm2d(in_channels),
            nn.ReLU(inplace=True),
            nn.Conv2d(in_channels, out_channels, kernel_size=1, bias=False),
            nn.BatchNorm2d(out_channels),
            nn.ReLU(inplace=True),
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.model(x)
        x = x.view(x.size(0), -1)
        return self.fc(x)


batch_size = 10
input_channels = 3
height = 224
width = 224
num_classes = 1000
alpha = 1.0


def get_inputs():
    x = torch.rand(batch_size, input_channels, height, width)
    return [x]


def get_init_inputs():
    return [num_classes, input_channels, alpha]
