# Does all the work of a problem whose output says nothing of its input. Right, and left out of the score with it.
# class: correctness/degenerate_task
# problem: forgetful
# scored: no
# verdict: passed
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        total = x.sum(dim=1, keepdim=True)
        return torch.sigmoid(total - total.mean(dim=1, keepdim=True))
