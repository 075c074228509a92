# Computes in NumPy and returns a tensor on NumPy's memory.
# class: correctness/metadata
# problem: wide_map
# needs: cpu
# verdict: passed
import numpy as np
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        out = np.negative(x.numpy())
        np.exp(out, out=out)
        out += 1
        return torch.from_numpy(np.reciprocal(out, out=out))
