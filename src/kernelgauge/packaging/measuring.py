"""A model with a package and without it, one after the other, in a process of its own.

`python -m kernelgauge.packaging.measuring`, a request on standard input, an answer on standard output, both JSON.

Request: `path`, `device`, `folder` and `name` of the package, `pairs`, `math` (None: what PyTorch or the model sets),
and `screen`, whether operators that hinder are looked for.
Answer: `before_ms` and `after_ms` of every pair, `swaps`, `counters`, `not_used`, `warnings`; `arithmetic` of
products and of convolutions; `error`, the root mean square of the answers' difference relative to the answer; and
`hinders`, by operator why it should not be in the package.
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
from kernelgauge.packaging.hindering import PAIRS, hindering, measurements
from kernelgauge.wire.math_modes import set_flags

_WARMUPS = 2
_SECONDS = 600.0
"""That looking for what hinders may take."""


def measured(request: dict[str, Any]) -> dict[str, Any]:
    """What the request asks for. Raises whatever the model or the package raises."""
    sys.path.insert(0, request["folder"])
    model, inputs = loaded_model(Path(request["path"]), request["device"])
    if request["math"] is not None:
        set_flags(request["math"])
    with torch.no_grad():
        wanted = model(*inputs)
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always", RuntimeWarning)
            package = importlib.import_module(request["name"])
            broken = package.build()
            applied = package.apply(model, *inputs)
        found = model(*inputs)
        package.reset_counters()
        operators = list(dict.fromkeys(swap.operator for swap in applied.swaps))
        before, after = _in_turns(applied, model, inputs, request["pairs"], operators, ())
        counters = package.counters()
        hinders = {}
        if request["screen"]:
            hinders = _not_reached(operators, counters)
            rest = [each for each in operators if each not in hinders]
            in_turns = partial(_in_turns, applied, model, inputs, max(request["pairs"], PAIRS))
            each_s = (sum(before) + sum(after)) / 1e3 * max(1, PAIRS / request["pairs"])
            surely = hindering(rest, in_turns, one_by_one=each_s * measurements(len(rest)) < _SECONDS)
            hinders |= {name: f"makes the whole model slower: {gain}" for name, gain in surely.items()}
    return {
        "before_ms": before,
        "after_ms": after,
        "swaps": [{"module": s.module, "operator": s.operator, "how": s.how} for s in applied.swaps],
        "counters": {name: each for name, each in counters.items() if name in operators},
        "not_used": broken,
        "warnings": list(dict.fromkeys(str(e.message) for e in said if issubclass(e.category, RuntimeWarning))),
        "arithmetic": _arithmetic(request["device"]),
        "error": _error(found, wanted),
        "hinders": hinders,
    }


def _not_reached(operators: Collection[str], counters: dict[str, Any]) -> dict[str, str]:
    """Why operators answered nothing in the model: each call missed the guard."""
    missed = {name: ", ".join(counters[name]["misses"]) for name in operators if not counters[name]["hits"]}
    return {name: f"answers no call of the model: its guard refuses them ({why})" for name, why in missed.items()}


def _arithmetic(device: str) -> dict[str, str]:
    """Of products and of convolutions of float32 in PyTorch, as this process has left it."""
    if device == "cpu":
        return {"products": "ieee", "convolutions": "ieee"}
    convolutions = torch.backends.cudnn.conv  # type: ignore[attr-defined]
    settings = {"products": torch.backends.cuda.matmul, "convolutions": convolutions}
    return {name: "tf32" if each.fp32_precision == "tf32" else "ieee" for name, each in settings.items()}


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
