"""Which bytes a forward reads of tensors it was given, seen on the meta device: shapes only, no values.

An operator reads the elements of the view it is handed, so of `x[:, 0]` one column counts, of an unused parameter
nothing, and of a table that is looked up in no more than comes out of it. It is what a forward as written has to
read, each element once; what a cleverer one may skip (half of a symmetric matrix) is not known here.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

_LOOK_UPS = {"embedding", "gather", "index", "index_select", "take", "_unsafe_index"}
"""Operators that read of their first tensor as much as they return at the most."""


class Reads(TorchDispatchMode):
    """While it is open, notes which elements of some tensors the operators read."""

    def __init__(self, tensors: Iterable[torch.Tensor]):
        super().__init__()
        self._sizes = {storage_of(tensor): _own_bytes(tensor) for tensor in tensors}
        self._views: dict[int, dict[tuple[Any, ...], int]] = {storage: {} for storage in self._sizes}

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        name = func.overloadpacket.__name__
        if not func.is_view and not name.endswith("_like") and not name.startswith(("new_", "sym_")):
            given = [each for each in tree_leaves((args, kwargs or {})) if isinstance(each, torch.Tensor)]
            for index, tensor in enumerate(given):
                if (views := self._views.get(storage_of(tensor))) is not None:
                    read = _own_bytes(tensor)
                    if index == 0 and name in _LOOK_UPS:
                        read = min(read, sum(_own_bytes(each) for each in tree_leaves(result)))
                    at = (tensor.storage_offset(), tuple(tensor.shape), tensor.stride(), name in _LOOK_UPS)
                    views[at] = max(views.get(at, 0), read)
        return result

    def of(self, tensors: Iterable[torch.Tensor]) -> int:
        """Bytes read of these, each storage once and never more than it holds."""
        storages = {storage_of(tensor) for tensor in tensors}
        return sum(min(self._sizes[each], sum(self._views[each].values())) for each in storages)


def written(outputs: Iterable[torch.Tensor], given: Iterable[torch.Tensor]) -> int:
    """Bytes of outputs that need memory of their own: no views of what was given, each storage once."""
    not_own = {storage_of(tensor) for tensor in given}
    needed: dict[int, int] = {}
    for tensor in outputs:
        if (storage := storage_of(tensor)) not in not_own:
            together = needed.get(storage, 0) + _own_bytes(tensor)
            needed[storage] = min(together, tensor.untyped_storage().nbytes())
    return sum(needed.values())


def reached(outputs: Sequence[torch.Tensor], parameters: Iterable[torch.Tensor]) -> list[torch.Tensor]:
    """Those parameters from which a gradient path leads to an output; all where an output has no gradient."""
    waiting = [tensor.grad_fn for tensor in outputs if tensor.grad_fn is not None]
    if len(waiting) < len(outputs):
        return list(parameters)
    seen, found = set(waiting), set()
    while waiting:
        node = waiting.pop()
        found.add(id(getattr(node, "variable", None)))
        following = {each for each, _ in node.next_functions if each is not None} - seen
        seen |= following
        waiting.extend(following)
    return [each for each in parameters if id(each) in found or not each.requires_grad]


def storage_of(tensor: torch.Tensor) -> int:
    """The identity of the memory behind a tensor, the same for all its views, as long as one of them lives."""
    return int(tensor.untyped_storage()._cdata)


def _own_bytes(tensor: torch.Tensor) -> int:
    """Bytes of the elements, those that an `expand` repeats once."""
    count = tensor.element_size()
    for size, stride in zip(tensor.shape, tensor.stride(), strict=True):
        count *= size if stride or size == 0 else 1
    return count
