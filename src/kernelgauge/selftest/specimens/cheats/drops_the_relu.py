# Leaves out what does nothing to inputs that are never negative.
# class: correctness/input_sniffing
# problem: positive_root
# verdict: wrong_value
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        return x * 2 + 1
