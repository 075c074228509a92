# Writes the mean square of a difference as three means, by algebra; rounds differently.
# class: correctness/precision
# problem: mean_loss
# verdict: passed
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, predictions, targets):
        first, second = predictions.flatten().double(), targets.flatten().double()
        return ((first @ first - 2 * (first @ second) + second @ second) / first.numel()).float()
