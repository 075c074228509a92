"""Which expression in `ModelNew.forward` stands for which tensor that passed through the compiled code.

Tensors are told apart by identity, so the answer is exact: an argument of the generated `call` *is* a
parameter or an input, an element of the reference's output *is* one of the results.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import torch

from kernelgauge.generation.constructor import Unwritable

CONTAINERS = frozenset({"_parameters", "_buffers", "_modules"})
SCALARS = (bool, int, float, str)


@dataclass(frozen=True)
class Wiring:
    """The expressions of a generated `forward`, in terms of its own parameters, `_tensors` and `_results`."""

    tensors: tuple[str, ...]
    """Dotted names of the module's tensors that `forward` looks up as `_tensors`."""
    arguments: tuple[str, ...]
    output: str
    updates: tuple[tuple[str, str], ...]
    """Attributes that a call rebinds, as dotted name and expression."""
    guards: tuple[tuple[str, str], ...]
    """Inputs that are plain Python values, with the value the code was generated for."""
    inputs: frozenset[str]
    """Those of `arguments` that come from the caller."""
    names: frozenset[str]
    """Module-level names of the reference that occur in the expressions."""


class Tensors:
    """Every tensor that a call can reach before it starts, and the expression or dotted name for each."""

    def __init__(self) -> None:
        self.inputs: dict[int, str] = {}
        self.members: dict[int, str] = {}
        self.globals: dict[int, str] = {}
        self.guards: list[tuple[str, str]] = []
        self.state: dict[str, Any] = {}
        self.objects: list[torch.Tensor] = []

    @classmethod
    def of(cls, model: torch.nn.Module, inputs: dict[str, Any], namespace: dict[str, Any]) -> Tensors:
        tensors = cls()
        for name, value in inputs.items():
            tensors._input(name, value)
        tensors.state = state(model)
        for name, value in tensors.state.items():
            tensors._note(tensors.members, value, name)
        for name, value in namespace.items():
            tensors._note(tensors.globals, value, name)
        return tensors

    def _note(self, place: dict[int, str], value: Any, expression: str) -> None:
        if isinstance(value, torch.Tensor) and id(value) not in place:
            place[id(value)] = expression
            self.objects.append(value)

    def _input(self, expression: str, value: Any) -> None:
        if isinstance(value, torch.Tensor):
            self._note(self.inputs, value, expression)
        elif isinstance(value, (list, tuple)):
            for index, item in enumerate(value):
                self._input(f"{expression}[{index}]", item)
        elif isinstance(value, dict):
            for key, item in value.items():
                self._input(f"{expression}[{key!r}]", item)
        elif value is None or isinstance(value, SCALARS):
            self.guards.append((expression, repr(value)))
        else:
            raise Unwritable(f"Input {expression} is a {type(value).__name__}, which cannot be written as text.")


def state(model: torch.nn.Module) -> dict[str, Any]:
    """Every attribute of every module by dotted name: parameters, buffers and plain ones."""
    found: dict[str, Any] = {}
    for path, module in model.named_modules():
        prefix = f"{path}." if path else ""
        plain = {name: value for name, value in vars(module).items() if name not in CONTAINERS}
        for holder in (module._parameters, module._buffers, plain):
            found.update({prefix + name: value for name, value in holder.items()})
    return found


def changes(before: Tensors, model: torch.nn.Module) -> dict[str, Any]:
    """Attributes that a call has rebound. Raises `Unwritable` if one is anything but a tensor."""
    after = state(model)
    changed = {name: value for name, value in after.items() if before.state.get(name, changes) is not value}
    for name, value in changed.items():
        if not isinstance(value, torch.Tensor):
            raise Unwritable(f"A call of the reference sets its attribute {name} to {value!r}.")
    return changed


def wiring(before: Tensors, arguments: list[Any], results: list[Any], output: Any, changed: dict[str, Any]) -> Wiring:
    """Writes down how `arguments` were taken from `before`, and `output` and `changed` from `results`.

    Raises `Unwritable` if something came from nowhere.
    """
    writer = _Writer(before, results)
    taken = tuple(writer.known(argument) for argument in arguments)
    returned = writer.value(output)
    updates = tuple((name, writer.value(value)) for name, value in changed.items())
    return Wiring(
        tensors=tuple(writer.used),
        arguments=taken,
        output=returned,
        updates=updates,
        guards=tuple(before.guards),
        inputs=frozenset(before.inputs.values()),
        names=frozenset(writer.names),
    )


class _Writer:
    def __init__(self, before: Tensors, results: list[Any]) -> None:
        self.before = before
        self.results = {id(result): index for index, result in enumerate(results) if result is not None}
        self.used: list[str] = []
        self.names: set[str] = set()

    def known(self, value: Any) -> str:
        """A tensor that existed before the call."""
        if expression := self.before.inputs.get(id(value)):
            return expression
        if name := self.before.members.get(id(value)):
            if name not in self.used:
                self.used.append(name)
            return f"_tensors[{self.used.index(name)}]"
        if name := self.before.globals.get(id(value)):
            self.names.add(name)
            return name
        kind = type(value).__name__
        raise Unwritable(f"The compiled code works on a {kind} that is no input and no attribute of a module.")

    def value(self, value: Any) -> str:
        """Any part of an output."""
        if isinstance(value, torch.Tensor):
            return self._tensor(value)
        if isinstance(value, tuple) and type(value).__module__ == "torch.return_types":
            return f"torch.return_types.{type(value).__name__}({self.value(tuple(value))})"
        if type(value) is tuple:
            return "(" + "".join(f"{self.value(item)}, " for item in value).rstrip() + ")"
        if type(value) is list:
            return "[" + ", ".join(self.value(item) for item in value) + "]"
        if type(value) is dict:
            return "{" + ", ".join(f"{key!r}: {self.value(item)}" for key, item in value.items()) + "}"
        if value is None or isinstance(value, SCALARS):
            return literal(value)
        raise Unwritable(f"The reference returns a {type(value).__name__}, which cannot be written as text.")

    def _tensor(self, value: torch.Tensor) -> str:
        if (index := self.results.get(id(value))) is not None:
            return f"_results[{index}]"
        for base in self.before.objects:
            if base is value:
                return self.known(base)
        for base in self.before.objects:
            if base.untyped_storage()._cdata == value.untyped_storage()._cdata and base.dtype == value.dtype:
                expression = self.known(base)
                offset = value.storage_offset() - base.storage_offset()
                start = f"{expression}.storage_offset() + {offset}"
                return f"{expression}.as_strided({tuple(value.shape)}, {value.stride()}, {start})"
        raise Unwritable("The reference returns a tensor that the compiled code neither takes nor makes.")


def literal(value: Any) -> str:
    if isinstance(value, float) and not math.isfinite(value):
        return f"float({str(value)!r})"
    return repr(value)
