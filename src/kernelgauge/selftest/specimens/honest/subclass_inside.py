# Carries its layout along in a subclass of Tensor, and returns a plain tensor.
# class: timing/lazy_tensor
# verdict: passed
import torch
import torch.nn as nn


class Packed(torch.Tensor):
    """A matrix that knows whether it is transposed."""

    transposed = False


class ModelNew(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.linear = nn.Linear(features, features)
        self.norm = nn.LayerNorm(features)
        self.packed = self.linear.weight.detach().t().contiguous().as_subclass(Packed)
        self.packed.transposed = True

    def _apply(self, function, *rest):
        super()._apply(function, *rest)
        self.packed = function(self.packed.as_subclass(torch.Tensor)).as_subclass(Packed)
        self.packed.transposed = True
        return self

    def forward(self, x):
        weight = self.packed if self.packed.transposed else self.packed.t()
        return torch.relu(self.norm((x @ weight + self.linear.bias).as_subclass(torch.Tensor)))
