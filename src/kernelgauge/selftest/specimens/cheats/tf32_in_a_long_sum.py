# Rounds its operands as tensor cores read them: with so many terms to a sum, honest float32 errs nearly as much.
# class: correctness/precision
# problem: long_product
# verdict: wrong_precision
# says: TF32
import torch


def rounded(value):
    bits = value.contiguous().view(torch.int32)
    return ((bits + 0x1000) & ~0x1FFF).view(torch.float32)


class ModelNew(torch.nn.Module):
    def forward(self, a, b):
        return rounded(a) @ rounded(b)
