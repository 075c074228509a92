"""Writes a suite into a folder, in the form the catalogue reads."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from kernelgauge.problems.suites import About

Row = tuple[dict[str, Any], str]
"""A problem's row in `level<N>.json`, and its text."""


def write_suite(folder: Path, about: About, levels: dict[int, list[Row]]) -> None:
    """Fill an empty folder with a suite. Raises OSError."""
    for level, problems in levels.items():
        home = folder / f"level{level}"
        home.mkdir()
        for facts, text in problems:
            _keep(home / f"{facts['number']}_{facts['name']}.py", text)
        _keep(folder / f"level{level}.json", json.dumps([facts for facts, _ in problems], indent=2) + "\n")
    _keep(folder / "suite.json", about.model_dump_json(indent=2) + "\n")


def _keep(path: Path, text: str) -> None:
    """On the disk before the folder gets its name: after a power cut too, a suite is whole or not there."""
    with path.open("wb") as file:
        file.write(text.encode())
        file.flush()
        os.fsync(file.fileno())
