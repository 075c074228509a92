# Works in blocks of 48 features, which 64 are no multiple of, and knows where they end.
# class: fault/answer
# verdict: passed
import torch
import torch.nn as nn

BLOCK = 48


class ModelNew(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.linear = nn.Linear(features, features)
        self.norm = nn.LayerNorm(features)

    def forward(self, x):
        out = self.linear.bias.repeat(len(x), 1)
        for begin in range(0, x.shape[1], BLOCK):
            end = min(begin + BLOCK, x.shape[1])
            out += x[:, begin:end] @ self.linear.weight[:, begin:end].t()
        return torch.relu(self.norm(out))
