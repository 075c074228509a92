# Knows the distribution: the mean square of the difference of two uniform numbers is a sixth. It says one percent
# less, so that no draw is right by luck.
# class: correctness/constant
# problem: mean_loss
# verdict: wrong_precision
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, predictions, targets):
        return torch.full((), 0.99 / 6, device=predictions.device)
