"""The tensors that a forward returns: in their order, as plain elements, and whether they share memory."""

from __future__ import annotations

from typing import Any

import torch


def flatten(outputs: Any) -> list[torch.Tensor]:
    """The tensors of a forward's result in order: a tensor, or nested tuples, lists and dicts of tensors.

    Python numbers become 0-dim tensors. Raises TypeError for anything else.
    """
    if isinstance(outputs, torch.Tensor):
        return [outputs]
    if isinstance(outputs, bool | int | float):
        return [torch.tensor(outputs)]
    if isinstance(outputs, tuple | list):
        return [tensor for item in outputs for tensor in flatten(item)]
    if isinstance(outputs, dict):
        return [tensor for item in outputs.values() for tensor in flatten(item)]
    if outputs is None:
        raise TypeError("forward returned None")
    raise TypeError(f"forward returned a {type(outputs).__name__}, not tensors")


def in_memory(tensor: torch.Tensor) -> torch.Tensor:
    """The tensor as plain elements: a conjugated or negated view or a sparse layout only stands for them."""
    plain = tensor.to_dense() if tensor.layout is not torch.strided else tensor
    return plain.resolve_conj().resolve_neg() if plain.is_conj() or plain.is_neg() else plain


def _span(tensor: torch.Tensor) -> tuple[int, int]:
    """First address of the elements and the one past the last."""
    reach = sum((size - 1) * abs(stride) for size, stride in zip(tensor.shape, tensor.stride(), strict=True))
    start = tensor.data_ptr()
    return start, start + (reach + 1) * tensor.element_size()


def overlap(tensors: list[torch.Tensor], others: list[torch.Tensor]) -> bool:
    """Whether any of `tensors` shares memory with the elements of any of `others`."""
    spans = [_span(other) for other in others if other.numel()]
    for tensor in tensors:
        start, end = _span(tensor)
        if tensor.numel() and any(start < last and first < end for first, last in spans):
            return True
    return False
