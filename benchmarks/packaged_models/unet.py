"""A U-Net as diffusion uses it: residual blocks with a time, one skip, a gated block in the middle."""

import torch
from torch import nn
from torch.nn import functional


class Residual(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.first, self.second = nn.GroupNorm(32, width), nn.GroupNorm(32, width)
        self.one, self.two = nn.Conv2d(width, width, 3, padding=1), nn.Conv2d(width, width, 3, padding=1)
        self.time = nn.Linear(256, width)

    def forward(self, x, time):
        y = self.one(functional.silu(self.first(x))) + self.time(time)[:, :, None, None]
        return x + self.two(functional.silu(self.second(y)))


class Gated(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.gate, self.up, self.down = (
            nn.Linear(width, 4 * width),
            nn.Linear(width, 4 * width),
            nn.Linear(4 * width, width),
        )

    def forward(self, x):
        y = self.norm(x)
        return x + self.down(functional.gelu(self.gate(y)) * self.up(y))


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.enter, self.leave = nn.Conv2d(4, 320, 3, padding=1), nn.Conv2d(320, 4, 3, padding=1)
        self.down, self.up = nn.Conv2d(320, 640, 2, stride=2), nn.ConvTranspose2d(640, 320, 2, stride=2)
        self.outer, self.inner, self.last = Residual(320), Residual(640), Residual(320)
        self.middle = Gated(640)

    def forward(self, x, time):
        x = self.outer(self.enter(x), time)
        y = self.inner(self.down(x), time)
        tokens = self.middle(y.flatten(2).transpose(1, 2).contiguous())
        y = tokens.transpose(1, 2).reshape(y.shape)
        return self.leave(self.last(x + self.up(y), time))


def get_inputs():
    return [torch.randn(8, 4, 64, 64), torch.randn(8, 256)]


def get_init_inputs():
    return []
