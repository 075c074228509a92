"""Losses written out."""

from __future__ import annotations

import torch


def cross_entropy_explicit(input, target):
    """The mean over rows of the logarithm of the sum of exponentials, less the score of the right class."""
    peak = input.amax(1, keepdim=True)
    total = torch.log(torch.exp(input - peak).sum(1)) + peak.squeeze(1)
    right = input.gather(1, target.unsqueeze(1)).squeeze(1)
    return (total - right).mean()


def smooth_l1_explicit(input, target):
    """Half the square below one, the distance less a half above."""
    distance = torch.abs(input - target)
    return torch.where(distance < 1.0, 0.5 * distance * distance, distance - 0.5).mean()


def kl_div_explicit(input, target, reduction="batchmean"):
    """The sum over all elements, divided by the rows."""
    return (target * (torch.log(target) - input)).sum() / input.shape[0]


def triplet_margin_explicit(anchor, positive, negative, margin=1.0):
    """Distances with PyTorch's 1e-6 inside."""
    near = torch.sqrt(((anchor - positive + 1e-6) ** 2).sum(-1))
    far = torch.sqrt(((anchor - negative + 1e-6) ** 2).sum(-1))
    return torch.clamp(near - far + margin, min=0.0).mean()
