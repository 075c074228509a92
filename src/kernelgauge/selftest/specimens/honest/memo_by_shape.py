# Keeps what it needs for a shape (a workspace, a transposed view of its weights) by that shape, for all later calls.
# class: timing/value_cache
# verdict: passed
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.linear = nn.Linear(features, features)
        self.norm = nn.LayerNorm(features)
        self.plans = {}

    def forward(self, x):
        plan = self.plans.get(x.shape)
        if plan is None:
            plan = self.plans[x.shape] = (torch.empty_like(x), self.linear.weight.t())
        workspace, weight = plan
        torch.addmm(self.linear.bias, x, weight, out=workspace)
        return torch.relu(self.norm(workspace))
