"""Names that a package and its operators can have."""

from __future__ import annotations

import importlib.util
import keyword
import re
import sys
from collections.abc import Container
from pathlib import Path

from kernelgauge.errors import UsageError

DEFAULT = "my_kernels"
"""The name of a package for which nobody has named one."""

_LIBRARIES = frozenset(
    {
        *("torch", "aten", "prims", "torchvision", "torchaudio", "triton", "numpy", "scipy", "jax", "tensorflow"),
        *("transformers", "diffusers", "accelerate", "peft", "vllm", "sglang", "xformers", "flash_attn"),
        *("kernels", "kernelgauge", "kernelbench", "flashinfer", "flashinfer_bench", "liger_kernel", "apex"),
        *("cupy", "numba", "cutlass", "tilelang", "helion", "pytest", "setuptools", "pip", "tests"),
    }
)
"""Modules of others that a package would hide where both are installed."""

TAKEN = frozenset(
    {"apply", "build", "counters", "disabled", "operators", "provenance", "recomputing", "reset_counters"}
)
"""What every package defines beside its operators."""


def check_package_name(name: str) -> str:
    """The name, if Python and PyTorch can call a package so, and no other module is. Raises UsageError."""
    fits = re.fullmatch(r"[a-z][a-z0-9_]{0,62}", name) and not keyword.iskeyword(name)
    if not fits or name in sys.stdlib_module_names or name in _LIBRARIES:
        raise UsageError(
            f"{name!r} cannot name a package: it takes up to 63 of a-z, 0-9 and _, a letter first, "
            "and no name of a module of Python, of PyTorch or of a known library"
        )
    if where := _installed(name):
        raise UsageError(f"{name!r} cannot name a package: a module of that name is installed at {where}")
    return name


def _installed(name: str) -> str | None:
    """Where there is a module of this name that is no package of ours; None if there is none."""
    try:
        found = importlib.util.find_spec(name)
    except (ImportError, ValueError):
        return None
    if found is None or found.origin is None or (Path(found.origin).parent / "package.json").is_file():
        return None
    return found.origin


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
