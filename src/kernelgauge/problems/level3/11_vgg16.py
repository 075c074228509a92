import torch
import torch.nn as nn


class Model(nn.Module):
    """VGG-16: five blocks of 3x3 convolutions, ReLU and a final max pooling, then three linear layers."""

    def __init__(self, num_classes: int):
        super().__init__()
        layers = []
        channels = 3
        for width, convolutions in [(64, 2), (128, 2), (256, 3), (512, 3), (512, 3)]:
            for _ in range(convolutions):
                layers.append(nn.Conv2d(channels, width, kernel_size=3, padding=1))
                layers.append(nn.ReLU(inplace=True))
                channels = width
            layers.append(nn.MaxPool2d(kernel_size=2, stride=2))
        self.features = nn.Sequential(*layers)
        self.classifier = nn.Sequential(
            nn.Linear(512 * 7 * 7, 4096),
            nn.ReLU(inplace=True),
            nn.Dropout(p=0.0),
            nn.Linear(4096, 4096),
            nn.ReLU(inplace=True),
            nn.Dropout(p=0.0),
            nn.Linear(4096, num_classes),
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.features(x)
        x = torch.flatten(x, 1)
        return self.classifier(x)


height = 224
width = 224
batch_size = 10
num_classes = 1000


def get_inputs():
    x = torch.rand(batch_size, 3, height, width)
    return [x]


def get_init_inputs():
    return [num_classes]
