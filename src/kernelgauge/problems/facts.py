"""What each problem of the suite must be: recorded facts about the published problem of the same number.

`facts/level<n>.json` was taken once from a catalogue of KernelBench's problems (v0.1 sizes with the v0.2 fixes), not
made from the files beside it, so comparing the two says something.
"""

from __future__ import annotations

import json
import math
import re
from functools import cache
from pathlib import Path
from typing import Any

from kernelgauge.schema import Record, Work

_HERE = Path(__file__).parent / "facts"


class SizeFacts(Record):
    """One reduced set of constants and the shapes that follow from it."""

    constants: dict[str, Any]
    inputs: list[Any]
    """Shape of each tensor among the inputs; the value of a number."""
    output: list[list[int]]


class Facts(Record):
    """A published problem: every name, shape and dtype that a candidate or stored weights depend on."""

    number: int
    name: str
    constants: dict[str, Any]
    inputs: list[dict[str, Any]]
    """`name`, and `shape` with `dtype` or `value`."""
    init_args: list[Any]
    state: dict[str, list[int]]
    """Keys of the state dict in order, with their shapes."""
    state_in_order: bool = True
    """False where the order of layers and of their parameters is not recorded."""
    output: list[dict[str, Any]]
    flops: int | None
    """Matrix products, convolutions and attention as dense full work, a multiply-add as two."""
    min_bytes: int
    """Inputs and parameters that reach the output read once, outputs written once."""
    small: SizeFacts
    odd: SizeFacts

    @property
    def work(self) -> Work:
        """FLOPs and bytes of one call at the full sizes; the parameters are what inputs and outputs leave."""
        inputs = sum(_bytes(each) for each in self.inputs if "shape" in each)
        outputs = sum(map(_bytes, self.output))
        parameters = max(self.min_bytes - inputs - outputs, 0)
        return Work(flops=self.flops, inputs=inputs, parameters=parameters, outputs=outputs)


def _bytes(tensor: dict[str, Any]) -> int:
    width = 1 if tensor["dtype"] == "bool" else int(re.sub(r"\D", "", tensor["dtype"])) // 8
    return int(math.prod(tensor["shape"])) * width


def facts(level: int, number: int) -> Facts | None:
    """The recorded facts about a problem of the built-in suite; None where there are none."""
    return _level(level).get(number)


@cache
def _level(level: int) -> dict[int, Facts]:
    path = _HERE / f"level{level}.json"
    if not path.is_file():
        return {}
    found = [Facts.model_validate(row) for row in json.loads(path.read_text(encoding="utf-8"))]
    return {each.number: each for each in found}
