"""Typed mutation operators on candidates' syntax trees: what each does, and where it can be applied."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from ..trees import CandidateTree, Edit

Finder = Callable[[CandidateTree], Iterator[Edit]]


@dataclass(frozen=True)
class Operator:
    """One kind of fault."""

    name: str
    finds: Finder

    @property
    def summary(self) -> str:
        """The fault in a sentence."""
        return (self.finds.__doc__ or "").splitlines()[0]


OPERATORS: dict[str, Operator] = {}


def operator(finder: Finder) -> Finder:
    """Register a function that finds where a fault can be made; its name is the operator's."""
    OPERATORS[finder.__name__] = Operator(finder.__name__, finder)
    return finder


from . import activations, arithmetic, bounds, constants, geometry, parameters, precision, reductions  # noqa: E402, F401
