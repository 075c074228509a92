"""A small model whose blocks hold a norm, a gate and linear layers."""

import torch
from torch import nn


class Norm(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x):
        return self.weight * (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6))


class Gate(nn.Module):
    def forward(self, gate, up):
        return 0.5 * gate * (1 + torch.tanh(0.7978845608 * (gate + 0.044715 * gate.pow(3)))) * up


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm, self.act = Norm(width), Gate()
        self.gate, self.up, self.down = nn.Linear(width, width), nn.Linear(width, width), nn.Linear(width, width)

    def forward(self, x):
        y = self.norm(x)
        return x + self.down(self.act(self.gate(y), up=self.up(y)))


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.Sequential(Block(512), Block(512))

    def forward(self, x):
        return self.blocks(x)


def get_inputs():
    return [torch.randn(8, 512, 512)]


def get_init_inputs():
    return []
