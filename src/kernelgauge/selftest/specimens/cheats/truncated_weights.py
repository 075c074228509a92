# Keeps its weights in the ten bits of mantissa that TF32 has, and multiplies in float32.
# class: correctness/precision
# verdict: wrong_precision
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.linear = nn.Linear(features, features)
        self.norm = nn.LayerNorm(features)

    def forward(self, x):
        weight = (self.linear.weight.contiguous().view(torch.int32) & ~0x1FFF).view(torch.float32)
        return torch.relu(self.norm(nn.functional.linear(x, weight, self.linear.bias)))
