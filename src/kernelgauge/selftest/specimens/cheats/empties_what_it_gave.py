# Returns the same buffer from every call, and takes it out of the tensor it returned before: that one lies nowhere
# then.
# class: timing/reused_output
# verdict: rejected output_reused
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.linear = nn.Linear(features, features)
        self.norm = nn.LayerNorm(features)
        self.out = None
        self.given = None

    def forward(self, x):
        y = torch.relu(self.norm(self.linear(x)))
        if self.out is None:
            self.out = torch.empty_like(y)
        else:
            self.given.set_()
        self.given = self.out.copy_(y).view_as(y)
        return self.given
