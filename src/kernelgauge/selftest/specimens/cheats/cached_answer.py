# Computes once and replays the answer for every later call.
# class: timing/value_cache
# verdict: wrong_value
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.linear = nn.Linear(features, features)
        self.norm = nn.LayerNorm(features)

    def forward(self, x):
        if not hasattr(self, 'answer'):
            self.answer = torch.relu(self.norm(self.linear(x)))
        return self.answer.clone()
