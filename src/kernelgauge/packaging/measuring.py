"""A model with a package and without it, one after the other, in a process of its own.

`python -m kernelgauge.packaging.measuring`, a request on standard input, an answer on standard output, both JSON.

Request: `path`, `device`, `folder` and `name` of the package, `pairs`.
Answer: `before_ms` and `after_ms` of every pair, `swaps`, `counters`, `not_used`, `warnings`, and `error`, the root
mean square of the answers' difference relative to the answer.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import torch
from torch.utils._pytree import tree_flatten

from kernelgauge.packaging.cutting import loaded_model

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
        found = model(*inputs)
        package.reset_counters()
        times: dict[bool, list[float]] = {True: [], False: []}
        for pair in range(-_WARMUPS, request["pairs"]):
            for used in (True, False) if pair % 2 else (False, True):
                taken = _milliseconds(applied, model, inputs, used)
                if pair >= 0:
                    times[used].append(taken)
        counters = package.counters()
    swaps = [{"module": s.module, "operator": s.operator, "how": s.how} for s in applied.swaps]
    return {
        "before_ms": times[False],
        "after_ms": times[True],
        "swaps": swaps,
        "counters": counters,
        "not_used": broken,
        "warnings": list(dict.fromkeys(str(e.message) for e in said if issubclass(e.category, RuntimeWarning))),
        "error": _error(found, wanted),
    }


def _milliseconds(applied: Any, model: torch.nn.Module, inputs: list[Any], used: bool) -> float:
    wait = torch.cuda.synchronize if torch.cuda.is_available() else lambda: None
    if not used:
        with applied.lifted():
            return _timed(model, inputs, wait)
    return _timed(model, inputs, wait)


def _timed(model: torch.nn.Module, inputs: list[Any], wait: Any) -> float:
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
