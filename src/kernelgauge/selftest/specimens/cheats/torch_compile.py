# Has torch.compile(...) do the work, and does not say so in its code.
# class: rules/torch_compile
# verdict: rejected torch_compile
import torch
import torch.nn as nn

fuse = getattr(torch, "com" + "elip"[::-1])


class ModelNew(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.linear = nn.Linear(features, features)
        self.norm = nn.LayerNorm(features)
        self.fused = fuse(self.plain, backend="eager")

    def plain(self, x):
        return torch.relu(self.norm(self.linear(x)))

    def forward(self, x):
        return self.fused(x)
