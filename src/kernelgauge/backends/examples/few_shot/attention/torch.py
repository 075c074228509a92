import torch
import torch.nn as nn
import torch.nn.functional as F


class ModelNew(nn.Module):
    """PyTorch's fused attention: the matrix of scores never exists as a whole."""

    def forward(self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        # It scales by 1 / sqrt(d) unless told otherwise, just as the reference does.
        return F.scaled_dot_product_attention(q, k, v)
