# The reference under another name, and a class that adds nothing to it.
# class: rules/inheritance
# verdict: rejected inherits_reference
import torch
import torch.nn as nn


class Reference(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.linear = nn.Linear(size, size)
        self.norm = nn.LayerNorm(size)

    def forward(self, rows):
        return torch.relu(self.norm(self.linear(rows)))


Base = Reference


class ModelNew(Base):
    """All mine."""
