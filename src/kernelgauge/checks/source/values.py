"""What an expression of a Python text can stand for."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from kernelgauge.checks.source.scopes import Definition, Scope
from kernelgauge.checks.source.text import Constant


@dataclass(frozen=True)
class Named:
    """A module, or something in one, by its dotted path."""

    path: str


@dataclass(frozen=True)
class Spelled:
    """A constant."""

    value: Constant


@dataclass(frozen=True)
class Defined:
    """A class or function of the text itself."""

    node: Definition
    scope: Scope

    def __hash__(self) -> int:
        return id(self.node)


@dataclass(frozen=True)
class Container:
    """A list, tuple, set or dictionary written out."""

    parts: tuple[ast.expr, ...]
    scope: Scope

    def __hash__(self) -> int:
        return id(self.parts)


Value = Named | Spelled | Defined | Container
