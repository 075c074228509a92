"""Names that a package and its operators can have."""

from __future__ import annotations

import keyword
import re
import sys
from collections.abc import Container

from kernelgauge.errors import UsageError

TAKEN = frozenset(
    {"apply", "build", "counters", "disabled", "operators", "provenance", "recomputing", "reset_counters"}
)
"""What every package defines beside its operators."""


def check_package_name(name: str) -> str:
    """The name, if Python and PyTorch can call a package so. Raises UsageError."""
    fits = re.fullmatch(r"[a-z][a-z0-9_]{0,62}", name) and not keyword.iskeyword(name)
    if not fits or name in sys.stdlib_module_names or name in ("torch", "aten", "prims", "kernelgauge", "numpy"):
        raise UsageError(
            f"{name!r} cannot name a package: it takes up to 63 of a-z, 0-9 and _, a letter first, "
            "and no name of a module of Python or PyTorch"
        )
    return name


def operator_name(problem_name: str, key: str, taken: Container[str]) -> str:
    """A name for a problem's operator that is not taken: that of the problem, with its key where it must be."""
    plain = re.sub(r"\W+", "_", problem_name.lower()).strip("_") or "operator"
    plain = f"op_{plain}" if plain[:1].isdigit() or keyword.iskeyword(plain) or plain in TAKEN else plain
    name, suffix = plain, re.sub(r"\W+", "_", key.lower()).strip("_")
    if name in taken:
        name = f"{plain}_{suffix}"
    number = 2
    while name in taken:
        name, number = f"{plain}_{number}", number + 1
    return name
