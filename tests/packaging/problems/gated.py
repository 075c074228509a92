"""A gate opened by what its neighbours say on average: eager PyTorch adds up all 255 of them for each token anew."""

import torch

batch = 8
width = 128
tokens = 1024


class Model(torch.nn.Module):
    def forward(self, gate, up):
        return up * torch.sigmoid(torch.nn.functional.avg_pool1d(gate, 255, 1, 127))


def get_inputs():
    return [torch.rand(batch, width, tokens), torch.rand(batch, width, tokens)]


def get_init_inputs():
    return []
