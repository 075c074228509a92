"""The gate of a Llama's MLP with the activation `gelu_new`, as transformers writes it."""

import math

import torch

batch = 8
tokens = 256
width = 1024


class Model(torch.nn.Module):
    def forward(self, gate, up):
        inner = math.sqrt(2.0 / math.pi) * (gate + 0.044715 * torch.pow(gate, 3.0))
        return 0.5 * gate * (1.0 + torch.tanh(inner)) * up


def get_inputs():
    return [torch.rand(batch, tokens, width), torch.rand(batch, tokens, width)]


def get_init_inputs():
    return []
