"""The tensors that a forward returns: in their order, as plain elements, and whether they share memory."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable, Sequence
from typing import Any

import torch
from torch.multiprocessing.reductions import StorageWeakRef


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
    """The tensor as plain elements, each in a place of its own: a conjugated or negated view, a sparse layout or an
    expanded view only stands for them."""
    plain = tensor.to_dense() if tensor.layout is not torch.strided else tensor
    plain = plain.resolve_conj().resolve_neg() if plain.is_conj() or plain.is_neg() else plain
    return plain.clone(memory_format=torch.contiguous_format) if folded(plain.shape, plain.stride()) else plain


def folded(shape: Sequence[int], strides: Sequence[int]) -> bool:
    """Whether several elements lie in one place, as in `expand` and `unfold`.

    Also true of places that interleave without meeting, which no operation of PyTorch's returns.

    Args:
        strides: in elements.
    """
    if 0 in shape:
        return False
    reach = 0
    for stride, size in sorted((stride, size) for size, stride in zip(shape, strides, strict=True) if size > 1):
        if stride <= reach:
            return True
        reach += stride * (size - 1)
    return False


Span = tuple[int, int]
"""First address of a tensor's elements and the one past the last."""


def spans(tensors: Iterable[torch.Tensor]) -> list[Span]:
    """Where tensors lie now, those without elements left out. Later one may lie elsewhere, or not say: its memory can
    be taken from it, as CUDA graphs do with what an earlier replay returned."""
    return [_span(tensor) for tensor in tensors if tensor.numel()]


def _span(tensor: torch.Tensor) -> Span:
    reach = sum((size - 1) * abs(stride) for size, stride in zip(tensor.shape, tensor.stride(), strict=True))
    start = tensor.data_ptr()
    return start, start + (reach + 1) * tensor.element_size()


def overlap(some: Iterable[Span], others: Collection[Span]) -> bool:
    """Whether any of `some` shares memory with any of `others`."""
    return any(start < last and first < end for start, end in some for first, last in others)


# Of what a caller may keep while the next calls are made.
_KEPT_CALLS = 4
_KEPT_BYTES = 2**28


class GivenOut:
    """The outputs of the last calls, held as a caller would hold them: memory that was freed may be given out again.

    Of large outputs only those of one call are held: the memory of a device is scarce.

    Args:
        holds_large: else of a call with large outputs none is held, and only such memory counts as returned again
            that somebody else has held all the time.
    """

    def __init__(self, holds_large: bool = True) -> None:
        self._holds_large = holds_large
        self._calls: deque[tuple[list[torch.Tensor], list[Span]]] = deque(maxlen=_KEPT_CALLS)
        self._large: list[tuple[StorageWeakRef, Span]] = []

    def reused(self, outputs: list[torch.Tensor], lie: list[Span]) -> bool:
        """Whether these outputs share memory with those of a call before, which are held; hold these from now on.

        Args:
            lie: where they lie, asked when they were returned; see `spans`.
        """
        found = any(overlap(lie, earlier) for _, earlier in self._calls)
        found |= any(not storage.expired() and overlap(lie, [span]) for storage, span in self._large)
        self._large = []
        self._calls.append((outputs, lie))
        while len(self._calls) > 1 and self._bytes() > _KEPT_BYTES:
            self._calls.popleft()
        if not self._holds_large and self._bytes() > _KEPT_BYTES:
            self._calls.clear()
            storages = [StorageWeakRef(tensor.untyped_storage()) for tensor in outputs if tensor.numel()]
            self._large = list(zip(storages, lie, strict=True))
        return found

    def _bytes(self) -> int:
        return sum(end - start for _, lie in self._calls for start, end in lie)
