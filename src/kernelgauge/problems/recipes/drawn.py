"""What every recipe draws: a problem's text and the constants of its reduced sizes, rendered alike."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any

from kernelgauge.problems.sizes import Constant
from kernelgauge.schema import Domain, Nearest, ParameterDraws, Sizes

_MEDIUM_OPERATIONS = 1e9
_MEDIUM_ELEMENTS = 2.5e6


@dataclass(frozen=True)
class Drawn:
    """One problem as a recipe made it; whether it is any good is decided by running it."""

    name: str
    level: int
    source: str
    tags: tuple[str, ...]
    sizes: dict[Sizes, dict[str, Constant]]
    domains: dict[str, Domain]
    parameters: ParameterDraws = field(default_factory=ParameterDraws)
    nearest: Nearest | None = None
    """In the built-in suite; known of what is kept."""
    twin_of: str | None = None
    """Key of the problem that this is a twin of."""


@dataclass
class Parts:
    """The pieces a problem file is put together from; all lines without indentation."""

    doc: str
    arguments: list[str] = field(default_factory=list)
    """Constructor arguments as `name: type`, each also the name of a module-level constant."""
    construct: list[str] = field(default_factory=list)
    inputs: list[tuple[str, str]] = field(default_factory=list)
    """Per input of `forward`: its name, and the expression that draws it."""
    forward: list[str] = field(default_factory=list)
    constants: dict[str, Constant] = field(default_factory=dict)
    derived: dict[str, str] = field(default_factory=dict)
    """Constants that follow from others: name and expression."""


def medium_batch(largest: int, operations: float, elements: float) -> int:
    """A batch with which a forward takes milliseconds on two cores.

    Args:
        largest: the batch at full size.
        operations: arithmetic of one sample, as if all of it ran at the speed of a matrix product.
        elements: of one sample's output, which later steps read again.
    """
    return int(max(1, min(largest, _MEDIUM_OPERATIONS / operations, _MEDIUM_ELEMENTS / elements)))


def convolution_batch(
    constants: Mapping[str, Any], kernel: Sequence[int], edge: int, transposed: bool, groups: int = 1
) -> int:
    """`medium_batch` for a convolution over inputs with `edge` elements in each dimension."""
    reach = [(size - 1) * constants.get("dilation", 1) + 1 for size in kernel]
    stride, margin = constants["stride"], 2 * constants.get("padding", 0)
    out = prod(
        (edge - 1) * stride + size - margin if transposed else (edge + margin - size) // stride + 1 for size in reach
    )
    channels = constants["in_channels"] * constants["out_channels"] / groups
    operations = 2 * channels * prod(kernel) * (edge ** len(kernel) if transposed else out)
    return medium_batch(constants["batch_size"], operations, constants["out_channels"] * out)


def render(parts: Parts) -> str:
    """The text of a problem file in the form and style of the suite's own."""
    takes = ", ".join(["self", *(f"{name}: torch.Tensor" for name, _ in parts.inputs)])
    lines = [
        "import torch",
        "import torch.nn as nn",
        "import torch.nn.functional as F",
        "",
        "",
        "class Model(nn.Module):",
    ]
    lines += _indented(_docstring(parts.doc))
    if parts.construct:
        lines += ["", *_indented(_signature(["self", *parts.arguments]))]
        lines += _indented(["super().__init__()", *parts.construct], 2)
    lines += ["", *_indented([f"def forward({takes}) -> torch.Tensor:"]), *_indented(parts.forward, 2), "", ""]
    lines += [f"{name} = {_literal(value)}" for name, value in parts.constants.items()]
    lines += [f"{name} = {expression}" for name, expression in parts.derived.items()]
    lines += ["", "", "def get_inputs():", *_indented([f"{name} = {drawn}" for name, drawn in parts.inputs])]
    lines += _indented([f"return [{', '.join(name for name, _ in parts.inputs)}]"])
    names = [argument.partition(":")[0] for argument in parts.arguments]
    lines += ["", "", "def get_init_inputs():", *_indented([f"return [{', '.join(names)}]"])]
    if not any("F." in line for line in lines):
        lines.remove("import torch.nn.functional as F")
    return "\n".join(lines) + "\n"


def _signature(arguments: Sequence[str]) -> list[str]:
    line = f"def __init__({', '.join(arguments)}):"
    return [line] if len(line) <= 106 else ["def __init__(", *_indented([f"{each}," for each in arguments]), "):"]


def _docstring(text: str) -> list[str]:
    if len(text) <= 98:
        return [f'"""{text}"""']
    first, *rest = textwrap.wrap(text, 98)
    return [f'"""{first}', *rest, '"""']


def _indented(lines: Sequence[str], depth: int = 1) -> list[str]:
    return [f"{'    ' * depth}{line}" if line else "" for line in lines]


def _literal(value: Constant) -> str:
    return f"({', '.join(map(str, value))}{',' * (len(value) == 1)})" if isinstance(value, list) else repr(value)
