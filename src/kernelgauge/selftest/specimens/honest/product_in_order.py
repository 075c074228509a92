# Adds the terms of each sum in their order, in float32: the error grows with the root of their number.
# class: correctness/precision
# problem: long_product
# needs: cpu
# verdict: passed
import numpy as np
import torch


class ModelNew(torch.nn.Module):
    def forward(self, a, b):
        rows, columns = a.numpy(), b.numpy()
        out = np.empty((a.shape[0], b.shape[1]), np.float32)
        for column in range(b.shape[1]):
            terms = rows * np.ascontiguousarray(columns[:, column])
            out[:, column] = np.add.accumulate(terms, axis=1, dtype=np.float32)[:, -1]
        return torch.from_numpy(out)
