"""How a problem draws a tensor that is spread out as one that a model saw: a line of Python."""

from __future__ import annotations

import torch


def drawn(tensor: torch.Tensor) -> str:
    """The expression."""
    shape = ", ".join(map(str, tensor.shape)) if tensor.dim() else "()"
    if not tensor.numel():
        return f"torch.empty({shape}, dtype={tensor.dtype})"
    if tensor.dtype == torch.bool:
        return f"torch.rand({shape}) < {float(tensor.float().mean()):.3g}" if tensor.dim() else _alone(tensor)
    if tensor.is_floating_point():
        return _float(tensor.detach().double(), shape, -torch.finfo(tensor.dtype).max)
    low, high = int(tensor.min()), int(tensor.max())
    size = f"({shape}{',' if tensor.dim() == 1 else ''})" if tensor.dim() else "()"
    return f"torch.randint({low}, {high + 1}, {size}, dtype={tensor.dtype})"


def _float(values: torch.Tensor, shape: str, lowest: float) -> str:
    # What masks out, and what is no number, says nothing of how the rest is spread out.
    masked = (values <= lowest / 2) | ~values.isfinite()
    if masked.any():
        rest = _float(values[~masked], shape, lowest) if not masked.all() else f"torch.zeros({shape})"
        filled = 'float("-inf")' if values.isneginf().any() else f"{lowest!r}"
        return f"({rest}).masked_fill(torch.rand({shape}) < {float(masked.double().mean()):.3g}, {filled})"
    mean, spread = float(values.mean()), float(values.std(correction=0)) if values.numel() > 1 else 0.0
    if float(values.min()) >= 0 and spread > 0:
        return f"torch.rand({shape}) * {float(values.max()):.6g}"
    spread = spread or max(abs(mean), 1.0) * 0.1  # a constant would be no test of who reads it
    return f"torch.randn({shape}) * {spread:.6g} + {mean:.6g}"


def _alone(tensor: torch.Tensor) -> str:
    return f"torch.tensor({bool(tensor)})"
