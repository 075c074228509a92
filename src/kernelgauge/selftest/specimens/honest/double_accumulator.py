# Adds up in float64 and rounds once, more exact than the reference.
# class: correctness/precision
# problem: mean_loss
# verdict: passed
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, predictions, targets):
        return (predictions - targets).double().square().sum().div(predictions.numel()).float()
