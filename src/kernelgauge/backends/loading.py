"""Importing a candidate or a problem from a real file."""

from __future__ import annotations

import contextlib
import importlib.util
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import ModuleType

_lent: list[str] = []


@contextlib.contextmanager
def lending(statements: Sequence[str]) -> Iterator[None]:
    """While open, files are imported into a namespace in which these import statements have run, if they can."""
    _lent.extend(statements)
    try:
        yield
    finally:
        _lent.clear()


def import_file(path: Path, name: str) -> ModuleType:
    """Import the Python file at `path` as module `name`; whatever its code raises comes through.

    A file and not a string, because Triton and TileLang read a kernel's source back through `inspect`.
    """
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    for statement in _lent:
        with contextlib.suppress(Exception):  # the file itself says what it misses
            exec(statement, vars(module))
    spec.loader.exec_module(module)
    return module
