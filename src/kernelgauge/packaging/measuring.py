"""A model with a package and without it, one after the other, in a process of its own.

`python -m kernelgauge.packaging.measuring`, a request on standard input, an answer on standard output, both JSON.

Request: `path`, `device`, `folder` and `name` of the package, `pairs`.
Answer: `hinders`, the operators without which the model is surely faster; of the model without those, `before_ms` and
`after_ms` of every pair, `swaps`, `counters` and `error`, the root mean square of the answers' difference relative to
the answer; `not_used` and `warnings`.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import time
import warnings
from collections.abc import Collection
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch.utils._pytree import tree_flatten

from kernelgauge.packaging.cutting import loaded_model
from kernelgauge.packaging.hindering import hindering

_WARMUPS = 2


def measured(request: dict[str, Any]) -> dict[str, Any]:
    """What the request asks for. Raises whatever the model or the package raises."""
    sys.path.insert(0, request["folder"])
    model, inputs = loaded_model(Path(request["path"]), request["device"])
    with torch.no_grad():
        wanted = model(*inputs)
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always", RuntimeWarning)
            package = importlib.import_module(request["name"])
            broken = package.build()
            applied = package.apply(model, *inputs)
        in_turns = partial(_in_turns, applied, model, inputs, request["pairs"])
        operators = list(dict.fromkeys(swap.operator for swap in applied.swaps))
        hinders = hindering(operators, in_turns)
        with applied.lifted(hinders):
            found = model(*inputs)
        package.reset_counters()
        before, after = in_turns(operators, hinders)
        counters = package.counters()
    swaps = [s for s in applied.swaps if s.operator not in hinders]
    return {
        "hinders": {name: str(gain) for name, gain in hinders.items()},
        "before_ms": before,
        "after_ms": after,
        "swaps": [{"module": s.module, "operator": s.operator, "how": s.how} for s in swaps],
        "counters": counters,
        "not_used": broken,
        "warnings": list(dict.fromkeys(str(e.message) for e in said if issubclass(e.category, RuntimeWarning))),
        "error": _error(found, wanted),
    }


def _in_turns(
    applied: Any,
    model: torch.nn.Module,
    inputs: list[Any],
    pairs: int,
    without: Collection[str],
    those: Collection[str],
) -> tuple[list[float], list[float]]:
    """Milliseconds of a model without these operators and without those, in turns."""
    times: tuple[list[float], list[float]] = ([], [])
    for pair in range(-_WARMUPS, pairs):
        for side in (1, 0) if pair % 2 else (0, 1):
            with applied.lifted((without, those)[side]):
                taken = _milliseconds(model, inputs)
            if pair >= 0:
                times[side].append(taken)
    return times


def _milliseconds(model: torch.nn.Module, inputs: list[Any]) -> float:
    wait = torch.cuda.synchronize if torch.cuda.is_available() else lambda: None
    wait()
    began = time.perf_counter()
    model(*inputs)
    wait()
    return (time.perf_counter() - began) * 1e3


def _error(found: Any, wanted: Any) -> float:
    worst = 0.0
    for one, other in zip(tree_flatten(found)[0], tree_flatten(wanted)[0], strict=True):
        if isinstance(other, torch.Tensor) and other.is_floating_point():
            finite = other.isfinite()
            one, other = one[finite], other[finite]
            if not other.numel():
                continue
            scale = float(other.double().square().mean().sqrt()) or 1e-30
            worst = max(worst, float((one.double() - other.double()).square().mean().sqrt()) / scale)
    return worst


def main() -> None:
    answer = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    request = json.loads(sys.stdin.read())
    with answer:
        json.dump(measured(request), answer)


if __name__ == "__main__":
    main()
