"""What a pause costs launches: measured by the command, on whatever machine this is."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("triton", reason="times what Triton does in Python")

ROOT = Path(__file__).parents[2]

pytestmark = [pytest.mark.processes, pytest.mark.proof("benchmarks/launch_pauses.py", "backends/triton.py", "expert")]


def test_each_pause_has_its_figure_alone_and_beside_builds(tmp_path: Path) -> None:
    out = tmp_path / "pauses.json"
    line = [sys.executable, "-m", "benchmarks.launch_pauses", "--problems", "1/88", "--calls", "3", "--builds", "1"]
    done = subprocess.run([*line, "--out", str(out)], cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    found = json.loads(out.read_text())
    rows = [row for row in found["rows"] if row["side"] == "expert"]
    assert [(row["builds"], row["pause_ms"]) for row in rows] == [(b, p) for b in (0, 1) for p in (0, 1, 3, 10, 30)]
    assert all(0 < row["launch_ms"] < 1000 for row in rows) and "1/88 expert" in done.stdout
    assert found["environment"]["cores"] and found["calls"] == 3
