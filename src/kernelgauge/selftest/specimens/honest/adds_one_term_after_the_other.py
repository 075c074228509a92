# Adds all squares one after the other in float32, as an atomic addition of each does: as exact as that can be.
# class: correctness/precision
# problem: mean_loss
# needs: cpu
# verdict: passed
import numpy as np
import torch


class ModelNew(torch.nn.Module):
    def forward(self, predictions, targets):
        squares = ((predictions - targets) ** 2).flatten().numpy()
        return torch.tensor(np.add.accumulate(squares, dtype=np.float32)[-1] / np.float32(squares.size))
