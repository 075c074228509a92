# Computes the norm by hand in two passes; rounds differently from eager in the last bits.
# class: correctness/precision
# verdict: passed
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.linear = nn.Linear(features, features)
        self.norm = nn.LayerNorm(features)

    def forward(self, x):
        y = x @ self.linear.weight.t() + self.linear.bias
        centred = y - y.mean(1, keepdim=True)
        scale = (centred.square().mean(1, keepdim=True) + self.norm.eps).rsqrt()
        return (centred * scale * self.norm.weight + self.norm.bias).clamp_min(0)
