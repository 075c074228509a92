import torch
import torch.nn as nn
import torch.nn.functional as F


class ChannelShuffle(nn.Module):
    """Interleaves the channels of `groups` equal groups: (a0 a1 b0 b1) becomes (a0 b0 a1 b1)."""

    def __init__(self, groups: int):
        super().__init__()
        self.groups = groups

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch_size, channels, height, width = x.shape
        x = x.view(batch_size, self.groups, channels // self.groups, height, width)
        x = x.transpose(1, 2).contiguous()
        return x.view(batch_size, channels, height, width)


class ShuffleNetUnit(nn.Module):
    """Grouped 1x1, depthwise 3x3, channel shuffle, grouped 1x1, plus a shortcut."""

    def __init__(self, in_channels: int, out_channels: int, groups: int):
        super().__init__()
        mid_channels = out_channels // 4
        self.conv1 = nn.Conv2d(in_channels, mid_channels, kernel_size=1, groups=groups, bias=False)
        self.bn1 = nn.BatchNorm2d(mid_channels)
        self.conv2 = nn.Conv2d(
            mid_channels, mid_channels, kernel_size=3, padding=1, groups=mid_channels, bias=False
        )
        self.bn2 = nn.BatchNorm2d(mid_channels)
        self.conv3 = nn.Conv2d(mid_channels, out_channels, kernel_size=1, groups=groups, bias=False)
        self.bn3 = nn.BatchNorm2d(out_channels)
        self.shuffle = ChannelShuffle(groups)
        if in_channels == out_channels:
            self.shortcut = nn.Sequential()
        else:
            self.shortcut = nn.Sequential(
                nn.Conv2d(in_channels, out_channels, kernel_size=1, bias=False),
                nn.BatchNorm2d(out_channels),
            )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        out = F.relu(self.bn1(self.conv1(x)))
        out = self.bn2(self.conv2(out))
        out = self.shuffle(out)
        out = F.relu(self.bn3(self.conv3(out)))
        out += self.shortcut(x)
        return out


class Model(nn.Module):
    """ShuffleNet: a stem that quarters the image, three stages of units at that size, linear layer.

    The first unit of a stage changes the number of channels; none changes height and width.
    """

    def __init__(
        self,
        num_classes: int,
        groups: int = 3,
        stages_repeats: tuple = (3, 7, 3),
        stages_out_channels: tuple = (24, 240, 480, 960),
    ):
        super().__init__()
        stem, *widths = stages_out_channels
        self.conv1 = nn.Conv2d(3, stem, kernel_size=3, stride=2, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(stem)
        self.maxpool = nn.MaxPool2d(kernel_size=3, stride=2, padding=1)
        self.stage2 = self._make_stage(stem, widths[0], stages_repeats[0], groups)
        self.stage3 = self._make_stage(widths[0], widths[1], stages_repeats[1], groups)
        self.stage4 = self._make_stage(widths[1], widths[2], stages_repeats[2], groups)
        self.conv5 = nn.Conv2d(widths[2], 1024, kernel_size=1, bias=False)
        self.bn5 = nn.BatchNorm2d(1024)
        self.fc = nn.Linear(1024, num_classes)

    def _make_stage(self, in_channels: int, out_channels: int, repeats: int, groups: int) -> nn.Sequential:
        units = [ShuffleNetUnit(in_channels, out_channels, groups)]
        for _ in range(1, repeats):
            units.append(ShuffleNetUnit(out_channels, out_channels, groups))
        return nn.Sequential(*units)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.maxpool(F.relu(self.bn1(self.conv1(x))))
        x = self.stage2(x)
        x = self.stage3(x)
        x = self.stage4(x)
        x = F.relu(self.bn5(self.conv5(x)))
        x = F.adaptive_avg_pool2d(x, (1, 1))
        x = x.view(x.size(0), -1)
        return self.fc(x)


batch_size = 10
input_channels = 3
height = 224
width = 224
num_classes = 1000


def get_inputs():
    x = torch.rand(batch_size, input_channels, height, width)
    return [x]


def get_init_inputs():
    return [num_classes]
