# Draws the mask of each call in that call, from the seed that is set for it.
# class: timing/before_the_clock
# problem: random_mask
# verdict: passed
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.drop = nn.Dropout(0.5)

    def forward(self, x):
        return self.drop.train()(x)
