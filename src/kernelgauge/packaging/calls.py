"""The call that a problem's operator takes: its arguments as they were judged, and the operator's schema."""

from __future__ import annotations

import keyword
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

_SCALARS = {bool: "bool", int: "int", float: "float"}
_TENSOR, _NOT_HERE = "Tensor", "cannot be an operator: "


@dataclass(frozen=True)
class Call:
    """What an operator is called with, and gives."""

    names: tuple[str, ...]
    """Of all arguments: the inputs of `forward`, then the weights with `_` for `.`."""
    inputs: int
    state: tuple[str, ...]
    arguments: tuple[dict[str, Any], ...]
    results: tuple[dict[str, Any], ...]

    @property
    def schema(self) -> str:
        """As `torch.library` reads it."""
        given = (f"{_kind(each)} {name}" for each, name in zip(self.arguments, self.names, strict=True))
        result = "Tensor" if len(self.results) == 1 else f"({', '.join(['Tensor'] * len(self.results))})"
        return f"({', '.join(given)}) -> {result}"


def call_of(described: Mapping[str, Any]) -> Call | str:
    """The call of a problem as `Session.describe` describes it; or why there is none, whose subject is the
    candidate."""
    layout = described["layout"]
    if layout is None:
        return f"{_NOT_HERE}its forward looks at values, so nobody can tell its results' shapes"
    if layout["changed"]:
        return f"{_NOT_HERE}a call changes its own {', '.join(layout['changed'])}"
    if layout["random"]:
        return f"{_NOT_HERE}its result is drawn at random ({', '.join(layout['random'])})"
    arguments = []
    for each in described["inputs"]:
        if "shape" not in each and type(each["value"]) not in _SCALARS:
            return f"{_NOT_HERE}its input {each['name']} is neither a tensor nor a number"
        arguments.append({key: value for key, value in each.items() if key != "name"})
    if not described["output"]:
        return f"{_NOT_HERE}its forward returns no tensor"
    state = layout["state"]
    names = _names([*(each["name"] for each in described["inputs"]), *(each["name"] for each in state)])
    return Call(
        names=names,
        inputs=len(arguments),
        state=tuple(each["name"] for each in state),
        arguments=(*arguments, *({"shape": each["shape"], "dtype": each["dtype"]} for each in state)),
        results=tuple(
            {**each, "stride": strides} for each, strides in zip(described["output"], layout["strides"], strict=True)
        ),
    )


def _kind(argument: Mapping[str, Any]) -> str:
    return _TENSOR if "shape" in argument else _SCALARS[type(argument["value"])]


def _names(wanted: Sequence[str]) -> tuple[str, ...]:
    """Names that a schema can have, none twice."""
    found: list[str] = []
    for each in wanted:
        name = re.sub(r"\W", "_", each)
        name = f"{name}_" if keyword.iskeyword(name) or name[:1].isdigit() or name in ("self", "out") else name
        while name in found:
            name += "_"
        found.append(name)
    return tuple(found)
