# Takes mean and variance in one pass from sums and sums of squares, as 16 threads would add them up in float32.
# class: correctness/precision
# problem: norm_of_maps
# needs: cpu
# verdict: passed
import numpy as np
import torch
import torch.nn as nn


def added_up(values, threads=16):
    parts = np.add.accumulate(values.reshape(len(values), -1, threads), axis=1, dtype=np.float32)[:, -1]
    return torch.from_numpy(parts.sum(1, dtype=np.float32))


class ModelNew(nn.Module):
    def __init__(self, shape):
        super().__init__()
        self.norm = nn.LayerNorm(shape)

    def forward(self, x):
        rows = x.flatten(1)
        count = rows.shape[1]
        mean = added_up(rows.numpy()) / count
        variance = added_up((rows * rows).numpy()) / count - mean * mean
        scale = torch.rsqrt(variance + self.norm.eps)
        normal = ((rows - mean[:, None]) * scale[:, None]).view_as(x)
        return normal * self.norm.weight + self.norm.bias
