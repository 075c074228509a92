"""Predictors by name: those that ship, entry points, and `module:name` for a class or a function."""

from __future__ import annotations

import inspect
import sys
from pathlib import Path

from kernelgauge.errors import UsageError
from kernelgauge.forecast.predictors.functions import Function
from kernelgauge.forecast.predictors.predictor import Predictor
from kernelgauge.registry import resolve

_ROOM = "kernelgauge.forecast.predictors"
BUILT_IN = {
    "one": f"{_ROOM}.simple:AlwaysOne",
    "frequencies": f"{_ROOM}.simple:Frequencies",
    "length": f"{_ROOM}.simple:CodeLength",
    "nearest": f"{_ROOM}.nearest:NearestNeighbour",
    "bound": f"{_ROOM}.simple:Bytes",
    "trees": f"{_ROOM}.trees:Trees",
    "trees-timed": f"{_ROOM}.trees:TimedTrees",
}
"""The simple ones, from the simplest; what is worth its costs beats them all."""

GROUP = "kernelgauge.predictors"


def predictor_named(name: str) -> Predictor:
    """A predictor: a name of `BUILT_IN`, an entry point, or `module:name`, looked for in this folder too.

    What is a class, or an entry point, is made without arguments; any other function is asked as `Function` says.

    Raises:
        UsageError: nothing of that name, or it cannot be loaded.
    """
    here = str(Path.cwd())
    if ":" in name and here not in sys.path:
        sys.path.append(here)
    found = resolve(name, BUILT_IN, GROUP, "predictor")
    if not inspect.isclass(found):
        return Function(found, name)
    made = found()
    if not (hasattr(made, "fit") and hasattr(made, "predict")):
        raise UsageError(f"predictor {name!r} has no fit and predict")
    return made  # type: ignore[no-any-return]
