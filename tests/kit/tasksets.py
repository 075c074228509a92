"""verifiers' own command over a taskset, in the environment `verifiers`."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

from environments import python_of


def evaluated(url: str, out: Path, *words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """What `vf-eval` said, with the policy at `url`; `words` come first, and name a taskset or a file that does."""
    command = python_of("verifiers").parent
    line = [str(command / "vf-eval"), *words, "-m", "written-down", "--client.base-url", url, "-c", "1"]
    line += ["--client.api-key-var", "OPENAI_API_KEY", "--no-push", "--no-rich", "--output-dir", str(out)]
    ours = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    told = {"OPENAI_API_KEY": "none", "PATH": f"{command}:{os.environ['PATH']}", **variables}
    return subprocess.run(line, env={**ours, **told}, capture_output=True, text=True, timeout=300)


def traces_of(done: subprocess.CompletedProcess[str], out: Path) -> list[dict[str, Any]]:
    """What it has written there, a trace for each task."""
    found = list(out.rglob("traces.jsonl"))
    assert done.returncode == 0 and found, done.stdout[-2000:] + done.stderr[-4000:]
    return [trace for line in found[0].read_text().splitlines() for trace in json.loads(line)["traces"]]
