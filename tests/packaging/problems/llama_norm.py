"""The norm of a Llama, as transformers writes it."""

import torch

batch = 8
tokens = 256
width = 1024


class Model(torch.nn.Module):
    def __init__(self, width, eps):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(width))
        self.eps = eps

    def forward(self, hidden):
        variance = hidden.pow(2).mean(-1, keepdim=True)
        return self.weight * (hidden * torch.rsqrt(variance + self.eps))


def get_inputs():
    return [torch.rand(batch, tokens, width)]


def get_init_inputs():
    return [width, 1e-6]
