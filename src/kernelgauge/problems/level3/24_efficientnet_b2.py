import torch
import torch.nn as nn


class Model(nn.Module):
    """EfficientNet-B2 with one unit per stage, in which the squeeze-and-excitation gate replaces the map.

    Every map behind the first unit is therefore a single pixel, and batch normalisation needs two samples.
    """

    def __init__(self, num_classes: int):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 32, kernel_size=3, stride=2, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(32)
        self.relu = nn.ReLU(inplace=True)
        self.mbconv1 = self._make_unit(32, 96, stride=1, expand_ratio=3)
        self.mbconv2 = self._make_unit(96, 144, stride=2, expand_ratio=6)
        self.mbconv3 = self._make_unit(144, 192, stride=2, expand_ratio=6)
        self.mbconv4 = self._make_unit(192, 288, stride=2, expand_ratio=6)
        self.mbconv5 = self._make_unit(288, 384, stride=1, expand_ratio=6)
        self.conv_final = nn.Conv2d(384, 1408, kernel_size=1, bias=False)
        self.bn_final = nn.BatchNorm2d(1408)
        self.avgpool = nn.AdaptiveAvgPool2d((1, 1))
        self.fc = nn.Linear(1408, num_classes)

    def _make_unit(
        self, in_channels: int, out_channels: int, stride: int, expand_ratio: int
    ) -> nn.Sequential:
        channels = in_channels * expand_ratio
        return nn.Sequential(
            nn.Conv2d(in_channels, channels, kernel_size=1, bias=False),
            nn.BatchNorm2d(channels),
            nn.ReLU(inplace=True),
            nn.Conv2d(
                channels, channels, kernel_size=3, stride=stride, padding=1, groups=channels, bias=False
            ),
            nn.BatchNorm2d(channels),
            nn.ReLU(inplace=True),
            nn.AdaptiveAvgPool2d((1, 1)),
            nn.Conv2d(channels, channels // 4, kernel_size=1, bias=False),
            nn.ReLU(inplace=True),
            nn.Conv2d(channels // 4, channels, kernel_size=1, bias=False),
            nn.Sigmoid(),
            nn.Conv2d(channels, out_channels, kernel_size=1, bias=False),
            nn.BatchNorm2d(out_channels),
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.relu(self.bn1(self.conv1(x)))
        x = self.mbconv1(x)
        x = self.mbconv2(x)
        x = self.mbconv3(x)
        x = self.mbconv4(x)
        x = self.mbconv5(x)
        x = self.relu(self.bn_final(self.conv_final(x)))
        x = torch.flatten(self.avgpool(x), 1)
        return self.fc(x)


height = 224
width = 224
batch_size = 2
num_classes = 1000


def get_inputs():
    x = torch.rand(batch_size, 3, height, width)
    return [x]


def get_init_inputs():
    return [num_classes]
