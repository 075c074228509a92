"""A module as a function of its inputs and its weights, which come with every call."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from types import ModuleType
from typing import Any

import torch
from torch.utils._python_dispatch import _disable_current_modes


class Functional:
    """`ModelNew` or `Model` of a file, built once as it was judged; its own weights are let go.

    Args:
        names: dotted names of its parameters and buffers, in the order in which a call brings them.
        dtype: type of everything else that it holds; None leaves that as it is.
    """

    def __init__(
        self,
        module: ModuleType,
        attribute: str,
        init: Sequence[Any],
        names: Sequence[str],
        device: str,
        dtype: torch.dtype | None = None,
    ) -> None:
        # Outside of whatever traces the call that comes first: what is built serves all others too.
        with _disable_current_modes(), torch.inference_mode(False), torch.no_grad(), torch.random.fork_rng():
            self.model = getattr(module, attribute)(*init).to(device=device, dtype=dtype)
        self._slots = [_slot(self.model, name) for name in names]
        self._lock = threading.Lock()
        self._clear()

    def __call__(self, inputs: Sequence[Any], state: Sequence[torch.Tensor]) -> Any:
        """What its forward returns for these inputs under these weights."""
        if not self._slots:
            return self.model(*inputs)
        with self._lock:
            try:
                for (holder, name), tensor in zip(self._slots, state, strict=True):
                    holder[name] = tensor
                return self.model(*inputs)
            finally:
                self._clear()

    def _clear(self) -> None:
        for holder, name in self._slots:
            holder[name] = None


def _slot(model: torch.nn.Module, path: str) -> tuple[dict[str, Any], str]:
    owner, _, name = path.rpartition(".")
    module = model.get_submodule(owner)
    for holder in (module._parameters, module._buffers):
        if name in holder:
            return holder, name
    raise AttributeError(f"{type(model).__name__} has no parameter and no buffer {path}")


def tensors_of(result: Any) -> tuple[torch.Tensor, ...]:
    """The tensors that a forward returned, in order. Raises TypeError where there are others than in plain tuples."""
    if isinstance(result, torch.Tensor):
        return (result,)
    if isinstance(result, tuple | list) and all(isinstance(each, torch.Tensor) for each in result):
        return tuple(result)
    raise TypeError(f"an operator returns tensors, and this forward returned a {type(result).__name__}")


def own(results: Sequence[torch.Tensor], arguments: Sequence[Any]) -> tuple[torch.Tensor, ...]:
    """The same results in memory of their own: an operator may return neither its arguments nor views of them."""
    given = [each for each in arguments if isinstance(each, torch.Tensor)]
    kept: list[torch.Tensor] = []
    for each in results:
        kept.append(each.clone() if any(_shared(each, other) for other in (*given, *kept)) else each)
    return tuple(kept)


def _shared(one: torch.Tensor, other: torch.Tensor) -> bool:
    return one is other or bool(torch._C._is_alias_of(one, other))  # type: ignore[attr-defined]
