# Answers a problem whose output says nothing of its input. Right, and left out of the score with its problem.
# class: correctness/degenerate_task
# problem: forgetful
# scored: no
# verdict: passed
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.full((x.shape[0], 1), 0.5, device=x.device)
