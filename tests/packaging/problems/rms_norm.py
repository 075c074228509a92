"""The norm of a Llama, at sizes of these tests, and wasteful: of a row's mean it takes one for each place in the row.

So a kernel is faster on every CPU and beside all other work, because it adds up each row once: a hundredth of that.
"""

import torch

batch = 16
tokens = 1024
width = 128


class Model(torch.nn.Module):
    def __init__(self, width, eps):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(width))
        self.eps = eps

    def forward(self, hidden):
        squares = hidden.pow(2)
        # Of the row twice over, each window as long as a row holds the whole row: all their means are the same.
        means = torch.nn.functional.avg_pool1d(torch.cat((squares, squares), -1), hidden.shape[-1], 1)
        return self.weight * (hidden * torch.rsqrt(means[..., :1] + self.eps))


def get_inputs():
    return [torch.rand(batch, tokens, width)]


def get_init_inputs():
    return [width, 1e-6]
