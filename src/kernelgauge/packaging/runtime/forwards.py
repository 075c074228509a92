"""Forwards that stand in for a module's own. A copy of the module gets one of its own, with its own weights."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.utils._pytree import tree_flatten

from .operators import Operator


class Standing:
    """What holds such a forward: the module, and the forward that it had.

    Whatever it needs of the module it asks of that, in every call: `deepcopy` gives it the copied module. What is
    pickled is the module's own forward, since nobody knows whether the package is where it is read.
    """

    def __init__(self, module: torch.nn.Module) -> None:
        self.module = module
        self.mode = module.training
        self._before: Callable[..., Any] | None = module.__dict__.get("forward")

    def own(self, *args: Any, **kwargs: Any) -> Any:
        """The module's own answer."""
        if self._before is not None:
            return self._before(*args, **kwargs)
        return type(self.module).forward(self.module, *args, **kwargs)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """The answer of an operator, where it fits the call."""
        raise NotImplementedError

    def __deepcopy__(self, memo: dict[int, Any]) -> Standing:
        made = copy.copy(self)
        memo[id(self)] = made
        made.module = copy.deepcopy(self.module, memo)
        made._before = copy.deepcopy(self._before, memo)
        return made

    def __copy__(self) -> Standing:
        made = type(self).__new__(type(self))
        made.__dict__.update(self.__dict__)
        return made

    def __reduce__(self) -> tuple[Any, ...]:
        warnings.warn(
            f"a {type(self.module).__name__} is pickled with its own forward: apply the package again "
            "where it is read",
            RuntimeWarning,
            stacklevel=2,
        )
        return Own, (self.module, self._before)


class Own:
    """What a pickled module has in the place of a `Standing`: the forward that the module had."""

    def __init__(self, module: torch.nn.Module, before: Callable[..., Any] | None) -> None:
        self.module, self._before = module, before

    @property
    def forward(self) -> Callable[..., Any]:
        """That one, of this module."""
        return self._before or type(self.module).forward.__get__(self.module)  # type: ignore[no-any-return]


class Swapped(Standing):
    """Asks an operator where its guard lets it, and the module's own forward otherwise.

    Args:
        order: which of the call's leaves each input of the operator is.
        weights: names of the module's own weights, in the operator's order.
        args, kwargs: of a call of the form that is answered; one of another form is the module's own.
    """

    def __init__(
        self,
        module: torch.nn.Module,
        operator: Operator,
        order: Sequence[int],
        weights: Sequence[str],
        args: Any,
        kwargs: Any,
    ) -> None:
        super().__init__(module)
        self._operator, self._order = operator, tuple(order)
        self._weights = [tuple(name.split(".")) for name in weights]
        known, self._structure = tree_flatten((args, kwargs))
        self._fixed = [(n, each) for n, each in enumerate(known) if not isinstance(each, torch.Tensor)]
        self._single = len(known) == len(args) == 1

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """The operator's answer, or the module's own."""
        inputs = self._inputs(args, kwargs) if self.module.training == self.mode else None
        reason: str | None = "arguments"
        if inputs is not None:
            arguments = (*inputs, *[self._weight(path) for path in self._weights])
            reason = self._operator.ready(arguments)
            if reason is None:
                return self._operator(*arguments)
        if not torch.compiler.is_compiling():
            self._operator.misses[str(reason)] += 1
        return self.own(*args, **kwargs)

    def _inputs(self, args: Any, kwargs: Any) -> tuple[Any, ...] | None:
        if self._single and len(args) == 1 and not kwargs:
            return tuple(args)
        leaves, found = tree_flatten((args, kwargs))
        if found != self._structure:
            return None
        # The type first: a tensor where a number was would be compared element by element.
        if any(type(leaves[n]) is not type(value) or leaves[n] != value for n, value in self._fixed):
            return None
        return tuple(leaves[number] for number in self._order)

    def _weight(self, path: Sequence[str]) -> Any:
        found: Any = self.module
        for name in path:
            found = getattr(found, name)
        return found
