"""Whether a call is one that a kernel was judged for; if not, in one word why.

Everything but the address is what `torch.compile` can look at too, so that a guard costs no graph break.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
from torch.autograd import forward_ad

ALIGNMENT = 64
"""Bytes that the address of every tensor is a multiple of: what PyTorch's allocators give, and a judged call had."""

REASONS = (
    *("disabled", "machine", "broken", "arithmetic", "autocast", "grad"),
    *("arguments", "subclass", "dtype", "device", "shape", "strides", "alignment"),
)
"""Why a call goes to PyTorch instead; `machine` and `broken` have said more in a warning."""

PLAIN = (torch.Tensor, torch.nn.Parameter)


class Argument:
    """One tensor or number as it was when a kernel was judged."""

    def __init__(self, given: dict[str, Any]) -> None:
        self.is_tensor = "shape" in given
        self.shape = torch.Size(given.get("shape", ()))
        self.dtype: torch.dtype = getattr(torch, given.get("dtype", "float32"))
        self.value = given.get("value")

    def fits(self, found: Any, device: str) -> str | None:
        """None, or why not."""
        if not self.is_tensor:
            return None if self._same(found) else "arguments"
        if type(found) not in PLAIN:
            return "subclass" if isinstance(found, torch.Tensor) else "arguments"
        if found.dtype != self.dtype:
            return "dtype"
        if found.device.type != device:
            return "device"
        if found.shape != self.shape:
            return "shape"
        return None if found.is_contiguous() else "strides"

    def alike(self, found: Any) -> bool:
        """Whether it has the shape and the type, or is the number, of the judged call; whatever else it is."""
        if not self.is_tensor:
            return self._same(found)
        return isinstance(found, torch.Tensor) and found.dtype == self.dtype and found.shape == self.shape

    def _same(self, found: Any) -> bool:
        return type(found) is type(self.value) and bool(found == self.value)

    def drawn(self, device: str) -> Any:
        """One like it, of small numbers; the number itself where it is one."""
        if not self.is_tensor:
            return self.value
        if self.dtype.is_floating_point:
            return torch.rand(self.shape, dtype=torch.float32, device=device).to(self.dtype)
        return torch.zeros(self.shape, dtype=self.dtype, device=device)


def first_miss(wanted: Sequence[Argument], found: Sequence[Any], device: str) -> str | None:
    """Why these are not the arguments that were judged; None if they are, up to their addresses."""
    if len(wanted) != len(found):
        return "arguments"
    for each, given in zip(wanted, found, strict=True):
        if reason := each.fits(given, device):
            return reason
    tensors = [each for each in found if isinstance(each, torch.Tensor)]
    return "device" if any(each.device != tensors[0].device for each in tensors) else None


def aligned(found: Sequence[Any]) -> bool:
    """Whether every tensor begins where a judged one could."""
    return all(each.data_ptr() % ALIGNMENT == 0 for each in found if isinstance(each, torch.Tensor))


def autocasts(found: Sequence[Any]) -> bool:
    """Whether PyTorch would compute this call in another type than its arguments have."""
    where = next((each.device.type for each in found if isinstance(each, torch.Tensor)), "cpu")
    return where in ("cpu", "cuda") and torch.is_autocast_enabled(where)


def without_autocast(found: Sequence[Any]) -> AbstractContextManager[Any]:
    """In the types of the arguments, as every operator of its own: compiled code runs without autocast, too."""
    if not autocasts(found):
        return nullcontext()
    where = next(each.device.type for each in found if isinstance(each, torch.Tensor))
    return torch.autocast(where, enabled=False)


def has_tangent(found: Sequence[Any]) -> bool:
    """Whether derivatives are carried forward with this call, by dual tensors."""
    if forward_ad._current_level < 0:
        return False
    tensors = (each for each in found if isinstance(each, torch.Tensor))
    return any(forward_ad.unpack_dual(each).tangent is not None for each in tensors)


def needs_grad(found: Sequence[Any]) -> bool:
    """Whether somebody wants gradients of this call."""
    return torch.is_grad_enabled() and any(isinstance(each, torch.Tensor) and each.requires_grad for each in found)
