"""Many candidates: a folder contestant through the real command, interrupted, killed, resumed, judged again."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from importlib import resources
from pathlib import Path

import pytest
from browser import texts_in
from commands import command_here
from import_graph import parts
from waiting import comes_true

from kernelgauge.config import load_protocol
from kernelgauge.errors import MachineError, StoreError, UsageError
from kernelgauge.execution.local import Done, LocalExecutor, Task
from kernelgauge.generation.folder import Folder
from kernelgauge.problems.loader import load_problem
from kernelgauge.schema import Candidate, Evaluation, NoCandidate, Outcome, Problem, RunHeader
from kernelgauge.selftest.specimens import problem, specimens
from kernelgauge.session.contest import judge_all
from kernelgauge.session.session import Session
from kernelgauge.store.run import Run

pytestmark = pytest.mark.processes

COMMANDS = {path for verb in ("run", "reeval", "report") for path in parts(f"cli.{verb}", "cli")}
PROOF = pytest.mark.proof("cli/main.py", *sorted(COMMANDS), "execution", "session", "store")
KEYS = ("1/19", "1/23", "1/47", "1/89", "2/76", "3/1")


def as_candidate(key: str) -> str:
    """The reference of a problem, renamed: an honest candidate that cannot be faster."""
    source = load_problem(key, sizes="small").source
    return source.replace("class Model(", "class ModelNew(").replace("super(Model,", "super(ModelNew,")


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Candidates in both ways of naming; one of them is wrong, one is no code."""
    folder = tmp_path_factory.mktemp("answers")
    for key in KEYS[:3]:
        level, number = key.split("/")
        (folder / f"level_{level}_problem_{number}_sample_0_kernel.py").write_text(as_candidate(key))
    for key in KEYS[3:]:
        level, number = key.split("/")
        (folder / f"{level}_{number}_mine.py").write_text(as_candidate(key))
    (folder / "1_19_mine_sample_1.py").write_text(
        "import torch\nclass ModelNew(torch.nn.Module):\n"
        "    def forward(self, x):\n        return torch.zeros_like(x)\n"
    )
    (folder / "1_23_mine_sample_1.py").write_text("Certainly!")
    (folder / "notes.py").write_text("")
    return folder


@pytest.fixture(scope="module")
def quick(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The strict protocol with a smaller time budget."""
    text = resources.files("kernelgauge.protocols").joinpath("strict.toml").read_text()
    for line, shorter in (
        ('name = "strict"', 'name = "few"'),
        ("min_samples = 25", "min_samples = 4"),
        ("processes = 5", "processes = 2"),
        ("budget_seconds = 10.0", "budget_seconds = 1.0"),
    ):
        assert line in text
        text = text.replace(line, shorter)
    path = tmp_path_factory.mktemp("protocol") / "quick.toml"
    path.write_text(text)
    assert load_protocol(str(path)).timing.min_samples == 4
    return str(path)


def command(answers: Path, out: Path, protocol: str, *extra: str) -> list[str]:
    fixed = ["--device", "cpu", "--sizes", "small", "--level", "1,2,3", "--protocol", protocol]
    return ["run", "--contestant", f"folder:{answers}", "--out", str(out), *fixed, *extra]


def finished(out: Path) -> list[tuple[str, int]]:
    return [(record.problem, record.sample) for record in Run.read(out).evaluations()]


def workers() -> Iterator[int]:
    """Processes of this machine that run in a scratch folder of these tests' cache."""
    scratch = Path(os.environ["KERNELGAUGE_CACHE"]) / "scratch"
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and scratch in (entry / "cwd").readlink().parents:
                yield int(entry.name)
        except OSError:
            continue


def test_folder_names_are_understood(answers: Path) -> None:
    folder = Folder(answers)
    assert set(folder.problems()) == set(KEYS)
    assert folder.samples("1/19") == [0, 1]
    assert folder.ignored == ["notes.py"]


def test_a_run_judges_everything_and_reports(answers: Path, tmp_path: Path, quick: str) -> None:
    out = tmp_path / "run"
    done = command_here(*command(answers, out, quick, "--jobs", "2"))
    assert done.returncode == 0, done.stderr
    records = {(r.problem, r.sample): r for r in Run.read(out).evaluations()}
    assert len(records) == 8
    assert records["1/19", 1].outcome is Outcome.WRONG_VALUE
    assert records["1/23", 1].outcome is Outcome.LOAD_FAILED
    passed = [record for record in records.values() if record.passed]
    assert len(passed) == 6
    # A busy machine may spend twice the budget before there are as many as the protocol wants.
    assert all(r.timing and len(r.timing.candidate_samples_ms) >= 2 for r in passed)
    report = command_here("report", str(out), "--json", "--html", str(tmp_path / "r.html"))
    scores = json.loads(report.stdout)
    assert set(scores["overall"]["fast_p"]) == {"0", "0.5", "0.8", "1", "1.5", "2"}
    assert scores["levels"]["2"]["fast_p"]["0"] == 1.0
    assert any("class ModelNew" in text for text in texts_in(tmp_path / "r.html"))


@pytest.mark.proof("cli/run.py", "session", "generation")
def test_the_compiler_writes_for_the_arithmetic_that_a_run_asks_for(tmp_path: Path, quick: str) -> None:
    """Its text for float32 returns float32, which is `wrong_precision` here."""
    line = ["run", "--contestant", "inductor", "--problems", "1/19", "--device", "cpu", "--sizes", "small"]
    done = command_here(*line, "--protocol", quick, "--math", "bf16", "--out", str(tmp_path / "run"))
    assert done.returncode == 0, done.stderr
    (record,) = Run.read(tmp_path / "run").evaluations()
    assert (record.outcome, record.math) == (Outcome.PASSED, "bf16")


@PROOF
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_a_stopped_run_keeps_what_is_finished_and_goes_on(
    number: signal.Signals, answers: Path, tmp_path: Path, quick: str
) -> None:
    out = tmp_path / "run"
    arguments = command(answers, out, quick)
    line = [sys.executable, "-m", "kernelgauge", *arguments]
    running = subprocess.Popen(line, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    assert comes_true(lambda: (out / "evaluations.jsonl").exists() and len(finished(out)) >= 2)
    running.send_signal(number)
    _, said = running.communicate(timeout=60)
    assert running.returncode == (130 if number == signal.SIGINT else -signal.SIGKILL)
    if number == signal.SIGINT:
        assert "kept in" in said
        assert "Traceback" not in said
    assert comes_true(lambda: not list(workers()))
    before = finished(out)
    assert 2 <= len(before) < 8
    again = command_here(*arguments)
    assert again.returncode == 0, again.stderr
    after = finished(out)
    assert after[: len(before)] == before
    assert sorted(after) == sorted({*after}) and len(after) == 8
    assert "nothing left to judge" in command_here(*arguments).stderr
    assert finished(out) == after


@pytest.fixture
def two(tmp_path: Path) -> Path:
    """A folder with two right candidates."""
    folder = tmp_path / "two"
    folder.mkdir()
    for key in ("1/19", "1/47"):
        (folder / f"{key.replace('/', '_')}.py").write_text(as_candidate(key))
    return folder


def rerun(arguments: list[str], code: int = 0) -> str:
    done = command_here(*arguments)
    assert done.returncode == code and "Traceback" not in done.stderr, done.stderr
    return done.stderr


def reported(out: Path) -> dict[str, int]:
    found = json.loads(command_here("report", str(out), "--json").stdout)
    assert found["overall"]["samples"] == len(found["problems"])
    return found["overall"]["outcomes"]


WRONG = (
    "import torch\nclass ModelNew(torch.nn.Module):\n    def forward(self, x):\n        return torch.ones_like(x)\n"
)


@PROOF
def test_a_changed_file_is_judged_anew_and_counts_once(two: Path, tmp_path: Path, quick: str) -> None:
    out = tmp_path / "run"
    arguments = command(two, out, quick)
    rerun(arguments)
    first = {record.problem: record for record in Run.read(out).evaluations()}
    assert reported(out) == {"passed": 2}
    good = (two / "1_19.py").read_text()
    (two / "1_19.py").write_text(WRONG)
    said = rerun(arguments)
    assert "1 of 2 candidates judged before changed since: 1 judged anew" in said
    records = Run.read(out).evaluations()
    assert [(r.problem, r.outcome.value) for r in records[2:]] == [("1/19", "wrong_value")], "the journal only grows"
    assert records[:2] == list(first.values())
    assert reported(out) == {"passed": 1, "wrong_value": 1}
    assert "nothing left to judge" in rerun(arguments)
    assert len(Run.read(out).evaluations()) == 3

    (two / "1_19.py").write_text(good)
    assert "1 as once before, so that record counts again" in rerun(arguments)
    assert Run.read(out).latest() == list(first.values()), "of what it says now, the newest record, unjudged"
    assert reported(out) == {"passed": 2}
    rerun(["reeval", str(out), "--protocol", quick, "--out", str(tmp_path / "b")])
    assert sorted(finished(tmp_path / "b")) == [("1/19", 0), ("1/47", 0)]
    rows = command_here("export", str(out)).stdout.splitlines()
    assert len(rows) == 3 and not any("wrong_value" in row for row in rows)

    (two / "1_47.py").unlink()
    assert "1 judged before are not there any more" in rerun(arguments)


@PROOF
def test_another_folder_of_the_same_name_is_not_the_same_contestant(two: Path, tmp_path: Path, quick: str) -> None:
    out, elsewhere = tmp_path / "run", tmp_path / "elsewhere" / two.name
    rerun(command(two, out, quick))
    shutil.copytree(two, elsewhere)
    (elsewhere / "1_19.py").write_text(WRONG)
    said = rerun(command(elsewhere, out, quick), 2)
    assert f"is a run of {two}" in said and "other answers: to 1 of the 2" in said and "--out" in said
    assert Run.read(out).header.origin == str(two) and len(finished(out)) == 2
    (elsewhere / "1_19.py").write_text((two / "1_19.py").read_text())
    assert "nothing left to judge" in rerun(command(elsewhere, out, quick)), "moved, and the same"
    assert Run.read(out).header.origin == str(elsewhere)


@PROOF
def test_limit_and_problems_select(answers: Path, tmp_path: Path, quick: str) -> None:
    out = tmp_path / "run"
    rerun(command(answers, out, quick, "--problems", "3/1,1/47,1/89", "--limit", "1"))
    assert len(finished(out)) == 1


@PROOF
def test_reeval_judges_stored_candidates_again(answers: Path, tmp_path: Path, quick: str) -> None:
    out, other = tmp_path / "run", tmp_path / "published"
    rerun(command(answers, out, quick, "--limit", "1"))
    reeval = ["reeval", str(out)]
    rerun([*reeval, "--protocol", quick])
    first, second, *_ = [r for r in Run.read(out).evaluations() if r.sample == 0]
    assert (first.problem, first.candidate_digest) == (second.problem, second.candidate_digest)
    assert first.id != second.id
    assert "--out" in rerun([*reeval, "--protocol", "v0.1"], 2)
    rerun([*reeval, "--protocol", "v0.1", "--out", str(other)])
    assert {r.protocol for r in Run.read(other).evaluations()} == {"v0.1"}


@PROOF
def test_an_other_question_is_refused_by_a_run_folder(answers: Path, tmp_path: Path, quick: str) -> None:
    out = tmp_path / "run"
    rerun(command(answers, out, quick, "--limit", "1"))
    assert "protocol" in rerun(command(answers, out, "v0.1"), 2)


def _candidate_waiting_for(gate: Path) -> str:
    honest = next(s.source for s in specimens() if s.name == "same_operations")
    wait = (
        f"        import os, time\n        while not os.path.exists({str(gate)!r}):\n            time.sleep(0.02)\n"
    )
    return honest.replace("    def forward(self, x):\n", "    def forward(self, x):\n" + wait)


def _kill_the_candidate(gate: Path) -> int:
    """SIGKILL every process whose candidate waits for `gate`; returns how many there were."""
    found = 0
    for pid in list(workers()):
        with suppress(OSError):  # it may end by itself meanwhile
            if str(gate) in Path(f"/proc/{pid}/cwd/candidate.py").read_text():
                os.kill(pid, signal.SIGKILL)
                found += 1
    return found


def test_a_worker_killed_from_outside_is_retried_once(session: Session, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    results: list[Evaluation] = []
    judged = threading_evaluate(session, _candidate_waiting_for(gate), results)
    assert comes_true(lambda: _kill_the_candidate(gate) > 0)
    gate.touch()
    judged.join(60)
    assert results[0].outcome is Outcome.PASSED


def test_a_worker_killed_twice_is_a_runtime_error(session: Session, tmp_path: Path) -> None:
    """A candidate can kill itself; as an error of the machine it would stay out of every score."""
    gate = tmp_path / "gate"
    results: list[Evaluation] = []
    judged = threading_evaluate(session, _candidate_waiting_for(gate), results)
    while judged.is_alive():
        _kill_the_candidate(gate)
        time.sleep(0.02)
    assert results[0].outcome is Outcome.RUNTIME_ERROR
    assert "killed from outside" in results[0].reason
    honest = next(s.source for s in specimens() if s.name == "same_operations")
    assert session.evaluate(problem(), honest, timed=False).passed


def threading_evaluate(session: Session, source: str, results: list) -> threading.Thread:
    def judge() -> None:
        try:
            results.append(session.evaluate(problem(), source, device="cpu", timed=False))
        except MachineError as error:
            results.append(error)

    thread = threading.Thread(target=judge)
    thread.start()
    return thread


def test_timing_waits_for_builds_and_builds_for_timing(session: Session) -> None:
    """While one thread holds the device alone, nothing else of ours runs on it, in this process or another."""
    import threading

    seen = []
    with session.leases.exclusive("cpu"):
        thread = threading.Thread(target=lambda: _note(session, seen))
        thread.start()
        time.sleep(0.3)
        assert seen == []
    thread.join(10)
    assert seen == ["shared"]


def _note(session: Session, seen: list[str]) -> None:
    with session.leases.shared("cpu"):
        seen.append("shared")


@PROOF
def test_an_error_of_one_task_does_not_stop_the_others(session: Session, quick: str) -> None:
    protocol = load_protocol(quick)
    good = next(s.source for s in specimens() if s.name == "same_operations")

    def start(device: str) -> object:
        candidate = Candidate(problem="specimens", source=good, backend="torch")
        return session.job(problem(), candidate, protocol, device)

    def fail(_: str) -> object:
        raise UsageError("no such problem")

    executor = LocalExecutor(session.supervisor, session.leases, ["cpu"], jobs=2)
    tasks = [Task("a", 0, start), Task("b", 0, fail), Task("c", 0, start)]  # type: ignore[arg-type]
    done: list[Done] = list(executor.run(tasks))
    assert sorted(d.task.problem for d in done) == ["a", "b", "c"]
    assert [d.task.problem for d in done if isinstance(d.result, UsageError)] == ["b"]


class SilentBut:
    """A contestant with one answer; what it does not answer has to be screened."""

    name = "silent"

    def __init__(self, answered: str) -> None:
        self.answered = answered

    def samples(self, _: str) -> tuple[int, ...]:
        return (0,)

    def complete(self, problem: Problem, sample: int, device: str) -> Candidate | NoCandidate:
        if problem.key == self.answered:
            return Candidate(problem=problem.key, source=as_candidate(problem.key), backend="torch")
        return NoCandidate(problem=problem.key, contestant=self.name, sample=sample, reason="it says nothing")


@PROOF
def test_a_full_disk_ends_a_run_in_which_problems_wait_to_be_weighed(
    session: Session, tmp_path: Path, quick: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The record comes while its device is held for timing, which is what the screening waits for."""
    protocol = load_protocol(quick)
    silent = SilentBut(KEYS[0])
    header = RunHeader(
        kernelgauge="0", contestant=silent.name, problems=KEYS[:4], sizes="small", device="cpu",
        protocol=protocol.name, protocol_digest=protocol.digest, math=protocol.tolerance.math,
        kernel_policy=protocol.kernel_policy,
    )  # fmt: skip

    def full(*_: object) -> None:
        raise StoreError("no space left on device")

    with Run.create_or_resume(tmp_path / "run", header) as run:
        monkeypatch.setattr(run, "append", full)
        with pytest.raises(StoreError, match="no space"):
            judge_all(session, silent, run, KEYS[:4], protocol=protocol)
    honest = next(s.source for s in specimens() if s.name == "same_operations")
    assert session.evaluate(problem(), honest, timed=False).passed, "the session is as good as before"
