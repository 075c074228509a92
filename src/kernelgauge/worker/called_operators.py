"""Which operators of ATen a forward calls, as PyTorch dispatches them."""

from __future__ import annotations

from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode


def name_of(operator: Any) -> str:
    """What all overloads of an operator are called."""
    return str(operator.overloadpacket.__name__)


class Mode(TorchDispatchMode):
    """A mode that nobody compiles. PyTorch would see to that by importing its compiler, which takes seconds."""

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False


class Operators(Mode):
    """While entered, notes the names of the operators that are called, and whether one of them may draw."""

    def __init__(self) -> None:
        super().__init__()
        self.names: set[str] = set()
        self.draw = False
        """Whether one of them takes random numbers from a generator."""

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        self.names.add(name_of(func))
        self.draw |= torch.Tag.nondeterministic_seeded in func.tags
        return func(*args, **(kwargs or {}))
