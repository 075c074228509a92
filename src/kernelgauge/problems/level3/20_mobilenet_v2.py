import torch
import torch.nn as nn


class Model(nn.Module):
    """MobileNet v2 without residual additions: inverted bottlenecks, mean over pixels, linear layer."""

    def __init__(self, num_classes: int):
        super().__init__()
        features = [
            nn.Conv2d(3, 32, kernel_size=3, stride=2, padding=1, bias=False),
            nn.BatchNorm2d(32),
            nn.ReLU6(inplace=True),
        ]
        in_channels = 32
        for expand_ratio, out_channels, repeats, first_stride in [
            (1, 16, 1, 1),
            (6, 24, 2, 2),
            (6, 32, 3, 2),
            (6, 64, 4, 2),
            (6, 96, 3, 1),
            (6, 160, 3, 2),
            (6, 320, 1, 1),
        ]:
            for i in range(repeats):
                stride = first_stride if i == 0 else 1
                features.append(self._make_unit(in_channels, out_channels, stride, expand_ratio))
                in_channels = out_channels
        features += [
            nn.Conv2d(in_channels, 1280, kernel_size=1, bias=False),
            nn.BatchNorm2d(1280),
            nn.ReLU6(inplace=True),
            nn.AdaptiveAvgPool2d((1, 1)),
        ]
        self.features = nn.Sequential(*features)
        self.classifier = nn.Sequential(nn.Dropout(p=0.0), nn.Linear(1280, num_classes))

        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, mode="fan_out")
            elif isinstance(module, nn.BatchNorm2d):
                nn.init.ones_(module.weight)
                nn.init.zeros_(module.bias)
            elif isinstance(module, nn.Linear):
                nn.init.normal_(module.weight, mean=0.0, std=0.01)
                nn.init.zeros_(module.bias)

    def _make_unit(
        self, in_channels: int, out_channels: int, stride: int, expand_ratio: int
    ) -> nn.Sequential:
        channels = in_channels * expand_ratio
        layers = []
        if expand_ratio != 1:
            layers += [
                nn.Conv2d(in_channels, channels, kernel_size=1, bias=False),
                nn.BatchNorm2d(channels),
                nn.ReLU6(inplace=True),
            ]
        layers += [
            nn.Conv2d(
                channels, channels, kernel_size=3, stride=stride, padding=1, groups=channels, bias=False
            ),
            nn.BatchNorm2d(channels),
            nn.ReLU6(inplace=True),
            nn.Conv2d(channels, out_channels, kernel_size=1, bias=False),
            nn.BatchNorm2d(out_channels),
        ]
        return nn.Sequential(*layers)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.features(x)
        x = x.view(x.size(0), -1)
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
