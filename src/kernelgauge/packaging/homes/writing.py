"""Which homes there are, and what they share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from kernelgauge.errors import UsageError
from kernelgauge.packaging.contents import Contents
from kernelgauge.packaging.homes import backendbench, flashinfer, huggingface

HOMES: dict[str, Callable[[Path, Path, Contents], Path]] = {
    "huggingface": huggingface.write,
    "flashinfer": flashinfer.write,
    "backendbench": backendbench.write,
}
"""By name: (folder to write below, the module's folder, what is in it) -> what was written."""


def check_homes(names: Sequence[str]) -> None:
    """Raises UsageError for a home that there is not."""
    for name in names:
        if name not in HOMES:
            raise UsageError(f"there is no home {name!r}: there are {', '.join(HOMES)}")
