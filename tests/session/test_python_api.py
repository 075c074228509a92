"""The public functions of `kernelgauge`, with real candidates, real processes and real folders."""

from __future__ import annotations

import inspect
from pathlib import Path

import pytest
from commands import command_here

import kernelgauge as kg
from kernelgauge.errors import StoreError, UsageError
from kernelgauge.problems.loader import load_problem
from kernelgauge.schema import Candidate, NoCandidate, Problem

KEYS = ("1/19", "1/26")


@pytest.fixture
def answers(tmp_path: Path) -> Path:
    folder = tmp_path / "answers"
    folder.mkdir()
    for key in KEYS:
        text = load_problem(key, sizes="small").source.replace("class Model(", "class ModelNew(")
        (folder / f"{key.replace('/', '_')}.py").write_text(text)
    return folder


@pytest.mark.proof("session", "runs.py")
def test_a_run_goes_on_where_the_command_line_stopped(answers: Path, tmp_path: Path, quick: str) -> None:
    out = tmp_path / "run"
    asked = ["--problems", ",".join(KEYS), "--device", "cpu", "--sizes", "small", "--protocol", quick]
    command = ["run", "--contestant", f"folder:{answers}", "--out", str(out), *asked, "--limit", "1"]
    done = command_here(*command)
    assert done.returncode == 0, done.stderr
    (first,) = kg.load(out).latest()

    def run(**options: object) -> kg.StoredRun:
        asked = {"problems": KEYS, "device": "cpu", "sizes": "small", "protocol": quick} | options
        return kg.run(f"folder:{answers}", out, **asked)

    found = run()
    assert isinstance(found, kg.StoredRun)
    assert [(each.problem, each.outcome) for each in found.latest()] == [(key, kg.Outcome.PASSED) for key in KEYS]
    assert found.latest()[0] == first, "it was judged before"
    assert run().evaluations() == found.evaluations() == kg.load(out).evaluations()
    with pytest.raises(StoreError, match="is a run with sizes 'small', not 'odd'"):
        run(sizes="odd")


class Writer:
    """A contestant in Python: knows one problem."""

    name = "writer"

    def samples(self, problem: str) -> list[int]:
        return [0] if problem in KEYS else []

    def complete(self, problem: Problem, sample: int, device: str) -> Candidate | NoCandidate:
        if problem.key != KEYS[0]:
            return NoCandidate(problem=problem.key, contestant=self.name, sample=sample, reason="too hard")
        text = problem.source.replace("class Model(", "class ModelNew(")
        return Candidate(problem=problem.key, source=text, backend="torch", contestant=self.name, sample=sample)


@pytest.mark.proof("session", "runs.py")
def test_an_object_is_a_contestant(tmp_path: Path, quick: str) -> None:
    found = kg.run(Writer(), tmp_path / "run", levels=[1], device="cpu", sizes="small", protocol=quick)
    assert [each.problem for each in found.latest()] == [KEYS[0]]
    assert [each.reason for each in found.skips()] == ["too hard"]
    assert found.header.contestant == "writer"


def test_wrong_use_of_run_is_told_before_anything_is_made(tmp_path: Path) -> None:
    for contestant, options, word in (
        (object(), {}, "is not a contestant"),
        ("nobody", {}, "unknown contestant"),
        (Writer(), {"levels": [2]}, "writer has no candidate for any"),
        (Writer(), {"levels": [9]}, "there is no level 9"),
        (Writer(), {"gpu_memory_gb": 8.0}, "on a CPU there is no such memory"),
    ):
        with pytest.raises(UsageError, match=word):
            kg.run(contestant, tmp_path / "run", device="cpu", **options)
    assert not (tmp_path / "run").exists()


@pytest.mark.processes
def test_profile_tells_where_the_time_goes(problem: str) -> None:
    found = kg.profile(problem, device="cpu")
    assert isinstance(found, kg.Profile)
    assert (found.outcome, found.candidate_digest) == (None, None)
    assert found.rows and found.wall_us
    broken = kg.profile(problem, "class ModelNew: pass", device="cpu")
    assert broken.outcome is kg.Outcome.LOAD_FAILED


@pytest.mark.parametrize("name", ["evaluate", "profile"])
def test_the_one_call_api_takes_what_a_session_takes(name: str) -> None:
    ours = list(inspect.signature(getattr(kg, name)).parameters.values())
    assert ours == list(inspect.signature(getattr(kg.Session, name)).parameters.values())[1:]
