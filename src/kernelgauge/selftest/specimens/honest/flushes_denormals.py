# Has the smallest of all numbers taken for zero, as many a library does: 10 to the minus 38, not what is small beside
# others.
# class: correctness/small_elements
# problem: softmax_rows
# verdict: passed
import torch
import torch.nn as nn

torch.set_flush_denormal(True)


class ModelNew(nn.Module):
    def forward(self, x):
        weights = torch.exp(x - x.max(dim=1, keepdim=True).values)
        return weights / weights.sum(dim=1, keepdim=True)
