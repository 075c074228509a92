"""`kernelgauge.apply`: a model's modules answered by the operators of packages."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from types import ModuleType
from typing import Any

import torch

from kernelgauge.errors import UsageError
from kernelgauge.packaging.runtime.applying import apply as apply_operators
from kernelgauge.packaging.runtime.patching import Applied


def apply(
    model: torch.nn.Module,
    *args: Any,
    packages: Sequence[str | ModuleType],
    run: Callable[[], Any] | None = None,
    classes: Mapping[str, str] | None = None,
    patterns: bool = True,
    tolerance: float | None = None,
    **kwargs: Any,
) -> Applied:
    """Have the operators of written packages answer the modules of a model that compute the very same.

    A module is swapped if its forward makes the same calls of ATen, with the same constants on the same shapes, as
    the reference of a kernel; if its class is named in `classes` and the answers agree; or in part, where it holds
    what an operator without weights computes. Its own forward answers every call that the guard refuses.

    Args:
        model: changed in place.
        args, kwargs: of one call of the model, which shows the shapes that its modules see.
        packages: packages that `package` wrote, by name or imported; those before win over those after.
        run: makes several such calls instead, as a generation of tokens does; the same every time.
        classes: class of a module -> operator, where a module is written otherwise than the operator's reference.
        patterns: whether parts of a module's forward are looked at too.
        tolerance: how far the model's answer may move, by root mean square relative to its own; by default 1e-3, and
            more where it has a narrower type than float32.

    Returns:
        What was swapped, with `undo()`. A package that was changed after it was written answers nothing, and a
        warning says so.

    Raises:
        UsageError: there is no such package, or it is none that `package` wrote.
    """
    operators: dict[str, Any] = {}
    for each in packages:
        for name, operator in _operators(each).items():
            operators.setdefault(name, operator)
    asked: dict[str, Any] = {"run": run, "classes": classes, "patterns": patterns, "tolerance": tolerance}
    return apply_operators(operators, model, *args, **asked, **kwargs)


def _operators(package: str | ModuleType) -> Mapping[str, Any]:
    name = package if isinstance(package, str) else package.__name__
    if isinstance(package, str):
        try:
            package = import_module(package)
        except ModuleNotFoundError as error:
            raise UsageError(f"there is no package {name} to import: {error}") from error
        except ImportError as error:  # its own check of what was written
            warnings.warn(f"{name} is not used: {error}", RuntimeWarning, stacklevel=4)
            return {}
    if not hasattr(package, "operators") or not hasattr(package, "provenance"):
        raise UsageError(f"{name} is no package that `kernelgauge package` wrote")
    return dict(package.operators)
