# Adds up in float16 what is to be averaged in float32: the inputs of the check average the rounding away, unless all
# of them are rounded to the same side.
# class: correctness/precision
# problem: mean_loss
# verdict: wrong_precision
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, predictions, targets):
        difference = (predictions - targets).half().float()
        return (difference * difference).mean()
