"""ShinkaEvolve's evaluation command: judges a program and writes `metrics.json` and `correct.json`.

python -m kernelgauge_client.adapters.shinka --program_path main.py --results_dir results --problem 1/23
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from kernelgauge_client.adapters.verdicts import Verdicts
from kernelgauge_client.errors import JudgeError

_PUBLIC = ("built", "correct", "trials_agreed", "speedup", "speedup_low", "speedup_high")
_FAILED = 3


def main(arguments: Sequence[str] | None = None) -> int:
    """Judge one program. The exit code is 0 with a verdict, whatever it is, and 3 without."""
    parser = argparse.ArgumentParser(prog="python -m kernelgauge_client.adapters.shinka", description=main.__doc__)
    parser.add_argument("--program_path", required=True, type=Path, help="the program's file")
    parser.add_argument("--results_dir", required=True, type=Path, help="where both files go")
    parser.add_argument("--problem", required=True, help="such as 1/23; Shinka's extra_cmd_args name it")
    parser.add_argument("--reward", default="interval", help="a reward of the server, by its name")
    chosen = parser.parse_args(arguments)
    chosen.results_dir.mkdir(parents=True, exist_ok=True)
    try:
        answer = Verdicts(reward=chosen.reward).of(chosen.problem, chosen.program_path.read_text(encoding="utf-8"))
    except JudgeError as error:
        # Shinka has no notion of it: a program that is not correct is no parent, and one without a score has no rank.
        _write(chosen.results_dir, {"public": {"verdict": 0.0}, "text_feedback": ""}, False, f"not judged: {error}")
        print(error, file=sys.stderr)
        return _FAILED
    _write(chosen.results_dir, _metrics(answer), bool(answer["parts"]["correct"]), answer["reason"] or None)
    return 0


def _metrics(answer: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "combined_score": float(answer["reward"]),
        "public": {name: answer["parts"][name] for name in _PUBLIC},
        "private": {"review": answer["parts"]["review"], "outcome": answer["outcome"]},
        "text_feedback": answer["feedback"],
    }


def _write(folder: Path, metrics: Mapping[str, Any], correct: bool, error: str | None) -> None:
    (folder / "metrics.json").write_text(json.dumps(metrics, indent=2))
    (folder / "correct.json").write_text(json.dumps({"correct": correct, "error": error}))


if __name__ == "__main__":
    raise SystemExit(main())
