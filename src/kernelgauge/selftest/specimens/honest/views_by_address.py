# Keeps a view of its input by address instead of making one each time; what it reads there is new in every call.
# class: timing/pointer_cache
# verdict: passed
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.linear = nn.Linear(features, features)
        self.norm = nn.LayerNorm(features)
        self.views = {}

    def forward(self, x):
        columns = self.views.setdefault(x.data_ptr(), x.detach().t())
        product = torch.addmm(self.linear.bias[:, None], self.linear.weight, columns)
        return torch.relu(self.norm(product.t()))
