"""Folders of homes that are ours to overwrite: each has a file that says so."""

from __future__ import annotations

import shutil
from pathlib import Path

MARK = ".kernelgauge"
_SAID = "Written by kernelgauge package, which overwrites all that is here.\n"


def is_foreign(home: Path) -> bool:
    """Whether something is there that is not ours."""
    return home.exists() and not (home / MARK).is_file()


def emptied(home: Path) -> None:
    """Make the folder anew, with its mark. Only where nothing foreign is."""
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir(parents=True)
    (home / MARK).write_text(_SAID)
