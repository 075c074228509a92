"""Environments of their own for packages that cannot share the suite's: trainers, environment hubs, searches.

`.ci/environment NAME` makes each once, from `tests/adapters/environments/NAME.txt`.
"""

from __future__ import annotations

import os
import subprocess
from functools import cache
from pathlib import Path

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
