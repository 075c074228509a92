"""Environments of their own for packages that cannot share the suite's: trainers, environment hubs, searches.

`.ci/environment NAME` makes each once, from `tests/adapters/environments/NAME.txt`.
"""

from __future__ import annotations

import json
import os
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import pytest

_ROOT = Path(__file__).parents[2]


@cache
def python_of(name: str) -> Path:
    """The interpreter of an environment, made now if it is not there. Where no package registry can be reached, the
    test is skipped; in CI it fails."""
    made = subprocess.run([_ROOT / ".ci" / "environment", name], capture_output=True, text=True)
    if made.returncode:
        said = f"the environment {name} cannot be made: {made.stderr[-2000:]}"
        pytest.fail(said) if os.environ.get("CI") else pytest.skip(said)
    return Path(made.stdout.strip())


def written_by(name: str, program: Path, folder: Path, **asked: Any) -> Any:
    """What a program of an environment writes: it reads `asked` from one JSON file and writes another."""
    place, out = folder / "asked.json", folder / "written.json"
    place.write_text(json.dumps(asked))
    ours = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        [python_of(name), program, place, out],
        env={**ours, "HF_HUB_OFFLINE": "1", "TRL_EXPERIMENTAL_SILENCE": "1"},
        capture_output=True,
        text=True,
        timeout=400,
    )
    assert done.returncode == 0, f"{program.name} failed:\n{done.stdout[-2000:]}\n{done.stderr[-6000:]}"
    return json.loads(out.read_text())
