"""The service under load: whoever hangs, crashes or takes all memory is asked about first, and costs its own slot."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from factories import make_evaluation, quick_protocol

pytest.importorskip("sqlalchemy", reason="the extra serve is not installed")

from kernelgauge.training import load_reward
from kernelgauge.training.judgement import of_verdict
from kernelgauge.training.request import JudgeRequest

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def from_the_repository(monkeypatch: pytest.MonkeyPatch) -> None:
    """`benchmarks` is a package there."""
    monkeypatch.syspath_prepend(str(ROOT))


@pytest.mark.parametrize(("problems", "each"), [(2, 4), (2, 40)])
def test_what_does_harm_is_asked_about_first_and_always(tmp_path: Path, problems: int, each: int) -> None:
    from benchmarks.judge_load import copies
    from benchmarks.judge_load_kinds import DUE, HARMFUL, asked_about

    folder = copies(["1/19", "1/23"], tmp_path / "copies")
    texts = asked_about(folder, tmp_path, problems, each, seed=1)
    kinds = [kind for _, _, kind in texts]
    harmful = [kind for kind in kinds if kind in HARMFUL]
    assert kinds[: len(harmful)] == harmful and set(harmful) == set(HARMFUL) and set(kinds) <= set(DUE)
    assert len({text for _, text, _ in texts}) == len(texts), "equal texts are judged once"
    for problem, text, kind in texts:
        if kind != "does not build":
            compile(text, problem, "exec")


def test_a_problem_that_does_not_count_has_a_verdict_here() -> None:
    from benchmarks.judge_load_kinds import reward_for_all

    weak = make_evaluation("1/14", scored=False, trivial_answers=("tf32",))
    request = JudgeRequest(problem="1/14", text="class ModelNew: ...")
    assert of_verdict(request, "", weak, load_reward("interval"), "G+E").status == "no_verdict"
    assert of_verdict(request, "", weak, reward_for_all(), "G+E").status == "verdict"


def row(kind: str, outcome: str, held_s: float | None, ended_s: float | None) -> dict[str, Any]:
    status = "verdict" if outcome else "no_verdict"
    return {"kind": kind, "status": status, "outcome": outcome, "seconds": 5.0, "held_s": held_s, "ended_s": ended_s}


def test_the_summary_says_who_was_answered_meanwhile_and_what_is_not_as_due() -> None:
    from benchmarks.judge_load_kinds import summary

    rows = [
        row("hangs", "timed_out", 10.0, 20.0),
        row("right", "passed", 1.0, 9.0),
        row("right", "passed", 1.0, 15.0),
        row("wrong", "passed", 1.0, 25.0),
        row("slow", "", None, None),
    ]
    texts = [("1/1", str(at), each["kind"]) for at, each in enumerate(rows)] + [("1/1", "x", "crashes")]
    found = summary(texts, rows, 36.0)
    assert found["kinds"]["hangs"] == {
        "asked": 1,
        "answered": 1,
        "outcomes": {"timed_out": 1},
        "held_s": [10.0],
        "others_meanwhile": [1],
        "others_afterwards": [1],
    }
    assert found["kinds"]["crashes"]["answered"] == 0 and found["kinds"]["slow"]["held_s"] == []
    assert (found["no_verdicts"], found["verdicts_per_hour"]) == (1, 400)
    assert found["not_as_due"] == [rows[3], rows[4]]


@pytest.mark.nightly
@pytest.mark.processes
@pytest.mark.timeout(600)
def test_a_hang_a_crash_and_a_hoarder_cost_nobody_else_a_verdict(tmp_path: Path) -> None:
    """A real server on the CPU. The hang is one of PyTorch's text, which has a minute: it might compile."""
    protocol, out = tmp_path / "few.toml", tmp_path / "out.json"
    protocol.write_text(quick_protocol())
    line = [sys.executable, "-m", "benchmarks.judge_load", "--device", "cpu", "--sizes", "small", "--jobs", "2"]
    line += ["--protocol", str(protocol), "--copies", "1/19,1/23", "--problems", "2", "--each", "4"]
    line += ["--clients", "12", "--seconds", "400", "--out", str(out)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])}
    done = subprocess.run(line, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr + done.stdout
    found = json.loads(out.read_text())
    assert found["answers"] == found["candidates"] == 10 and not found["no_verdicts"] and not found["not_as_due"]
    due = {"hangs": "timed_out", "crashes": "runtime_error", "takes all memory": "out_of_memory"}
    assert all(set(found["kinds"][kind]["outcomes"]) == {outcome} for kind, outcome in due.items())
    (held,), (meanwhile,) = (found["kinds"]["hangs"][name] for name in ("held_s", "others_meanwhile"))
    assert held >= 10 and meanwhile > 0, "until one has to be timed alone the other slot goes on"
