import torch
import torch.nn as nn


class ModelNew(nn.Module):
    """Scale and shift are folded into the matrix product: (x W' + b) s + t = x (W s)' + (b s + t)."""

    def __init__(self, in_features: int, out_features: int):
        super().__init__()
        # The same layers and parameters in the same order as the reference: one seed gives both the same values.
        linear = nn.Linear(in_features, out_features)
        scale = nn.Parameter(torch.ones(out_features))
        shift = nn.Parameter(torch.zeros(out_features))
        # Buffers, not plain attributes: they move with .to(device).
        self.register_buffer("weight", (linear.weight * scale[:, None]).t().contiguous())
        self.register_buffer("bias", linear.bias * scale + shift)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        # In place is safe on a tensor that this call has made itself, never on an input.
        return torch.addmm(self.bias, x, self.weight).relu_()
