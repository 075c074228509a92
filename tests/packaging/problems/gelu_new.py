"""The activation `gelu_new`, as transformers writes it."""

import math

import torch

batch = 8
tokens = 257
width = 1024


class Model(torch.nn.Module):
    def forward(self, x):
        return 0.5 * x * (1.0 + torch.tanh(math.sqrt(2.0 / math.pi) * (x + 0.044715 * torch.pow(x, 3.0))))


def get_inputs():
    return [torch.rand(batch, tokens, width)]


def get_init_inputs():
    return []
