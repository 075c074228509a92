# Replays the answer while the argument lies at the same address.
# class: timing/pointer_cache
# verdict: wrong_value
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.linear = nn.Linear(features, features)
        self.norm = nn.LayerNorm(features)

    def forward(self, x):
        if getattr(self, 'seen', None) != x.data_ptr():
            self.seen = x.data_ptr()
            self.answer = torch.relu(self.norm(self.linear(x)))
        return self.answer.clone()
