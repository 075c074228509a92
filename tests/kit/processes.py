"""Processes that tests look at and kill: those below one, by what the kernel says."""

from __future__ import annotations

import re
from pathlib import Path


def children(parent: int) -> list[int]:
    """Processes that it has begun and that are there still."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and re.search(
                rf"^PPid:\t{parent}$", (entry / "status").read_text(), re.MULTILINE
            ):
                found.append(int(entry.name))
        except OSError:  # it has ended meanwhile
            continue
    return found


def descendants(parent: int, depth: int = 1) -> list[tuple[int, int]]:
    """All below it, each with how far."""
    found = [(child, depth) for child in children(parent)]
    return found + [below for child, _ in found for below in descendants(child, depth + 1)]
