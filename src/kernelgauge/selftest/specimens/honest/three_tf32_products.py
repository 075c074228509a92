# Splits its operands in two TF32 numbers each and adds up three products on tensor cores, in pieces, because those
# round towards zero when they add up (Ootomo and Yokota, 2022): as exact as float32.
# class: correctness/numerics_flags
# problem: four_layers
# needs: cuda
# verdict: passed
import torch
import torch.nn as nn

PIECE = 256


def halves(x):
    high = ((x.contiguous().view(torch.int32) + 0x1000) & ~0x1FFF).view(torch.float32)
    return high, x - high


def product(a, b):
    (a_high, a_low), (b_high, b_low) = halves(a), halves(b)
    before = torch.backends.cuda.matmul.allow_tf32
    torch.backends.cuda.matmul.allow_tf32 = True
    try:
        total = torch.zeros(a.shape[0], b.shape[1], device=a.device)
        for at in range(0, a.shape[1], PIECE):
            part = slice(at, at + PIECE)
            total += a_low[:, part] @ b_high[part] + a_high[:, part] @ b_low[part]
            total += a_high[:, part] @ b_high[part]
        return total
    finally:
        torch.backends.cuda.matmul.allow_tf32 = before


class ModelNew(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(features, features) for _ in range(4))

    def forward(self, x):
        for layer in self.layers:
            x = torch.relu(product(x, layer.weight.t().contiguous()) + layer.bias)
        return x
