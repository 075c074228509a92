"""The throughput benchmark on a CPU: both evaluators judge the same two candidates, and say the same of them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from factories import quick_protocol
from import_graph import program

from kernelgauge.generation.folder import Folder
from kernelgauge.problems.loader import load_problem
from kernelgauge.problems.verified import verified
from kernelgauge.schema import Candidate

pytestmark = pytest.mark.processes

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
PROGRAMS = program("throughput.py", "training_step.py", "naive_evaluator.py")
PROOF = pytest.mark.proof(*PROGRAMS, "benchmarks/cuda_candidates")


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A right candidate and a wrong one."""
    folder = tmp_path_factory.mktemp("answers") / "level1"
    folder.mkdir()
    softmax, relu = (
        load_problem(key, sizes="small").source.replace("class Model(", "class ModelNew(") for key in ("1/23", "1/19")
    )
    assert "torch.relu(x)" in relu
    (folder / "23_softmax.py").write_text(softmax)
    (folder / "19_relu.py").write_text(relu.replace("torch.relu(x)", "x - 1"))
    return folder.parent


@pytest.fixture(scope="module")
def quick(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("protocol") / "quick.toml"
    path.write_text(quick_protocol())
    return path


def measure(answers: Path, quick: Path, work: Path, *more: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(BENCHMARKS / "throughput.py"), "--candidates", str(answers), "--device", "cpu"]
    command += ["--sizes", "small", "--protocol", str(quick), "--jobs", "2", "--work", str(work / "work")]
    return subprocess.run(
        [*command, "--out", str(work / "out.json"), *more], capture_output=True, text=True, timeout=300
    )


@PROOF
def test_both_evaluators_judge_the_same_candidates(answers: Path, quick: Path, tmp_path: Path) -> None:
    done = measure(answers, quick, tmp_path, "--phases", "naive,naive_built,cold,warm")
    assert done.returncode == 0, done.stderr
    content = json.loads((tmp_path / "out.json").read_text())
    assert sorted(content["problems"]) == ["1/19", "1/23"]
    phases = content["phases"]
    assert list(phases) == ["naive", "naive_built", "cold", "warm"]
    for name, phase in phases.items():
        assert phase["finished"] and phase["kernels"] == 2, (name, phase)
        assert 0 < phase["kernels_per_hour"] < 3600 * 100
    for name in ("naive", "naive_built"):
        rows = {row["problem"]: row for row in phases[name]["rows"]}
        assert rows["1/23"]["correct"] and rows["1/23"]["agreed"] == 5 and rows["1/23"]["mean_ms"] > 0
        assert not rows["1/19"]["correct"] and "differ" in rows["1/19"]["error"] and rows["1/19"]["mean_ms"] is None
        assert {"import", "build", "draw", "compare", "time"} <= set(phases[name]["seconds"])
    for name in ("cold", "warm"):
        rows = {row["problem"]: row for row in phases[name]["rows"]}
        assert rows["1/23"]["outcome"] == "passed" and rows["1/23"]["speedup"]
        assert rows["1/19"]["outcome"] == "wrong_value"
        assert {"check", "time"} <= set(phases[name]["seconds"])

    shown = subprocess.run(
        [sys.executable, str(BENCHMARKS / "throughput.py"), "--page", str(tmp_path / "out.json")],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert f"| {phases['naive']['kernels_per_hour']} | 1.0 |" in shown
    ratio = phases["cold"]["kernels_per_hour"] / phases["naive"]["kernels_per_hour"]
    assert f"| {ratio:.1f} |" in shown
    assert any(line.startswith("| 1/19 | wrong |") and "wrong_value" in line for line in shown.splitlines())

    other = measure(answers, quick, tmp_path, "--phases", "naive", "--only", "1")
    assert other.returncode != 0 and "another problems" in other.stderr


@PROOF
def test_a_measurement_out_of_time_goes_on(answers: Path, quick: Path, tmp_path: Path) -> None:
    short = measure(answers, quick, tmp_path, "--phases", "naive", "--limit-seconds", "0.1")
    assert "0 kernels (out of time)" in short.stdout, short.stderr
    assert "2 kernels (all)" in measure(answers, quick, tmp_path, "--phases", "naive").stdout
    content = json.loads((tmp_path / "out.json").read_text())
    assert content["phases"]["naive"]["wall_seconds"] > sum(
        row["wall_seconds"] for row in content["phases"]["naive"]["rows"]
    )
    assert len(content["commands"]) == 2


def test_cuda_candidates_answer_forty_problems_that_all_count() -> None:
    folder = Folder(BENCHMARKS / "cuda_candidates")
    assert len(folder.problems()) == 40 and not folder.ignored
    for key in folder.problems():
        answer = folder.complete(load_problem(key), 0, "cuda")
        assert isinstance(answer, Candidate) and answer.backend == "cuda"
        recorded = verified(key)
        assert recorded is not None and not recorded.accepted()["strict"], key


def test_a_training_step_is_mostly_broken_and_every_text_its_own(tmp_path: Path) -> None:
    command = [sys.executable, str(BENCHMARKS / "training_step.py"), str(tmp_path)]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert said.strip() == "22 does not build, 16 wrong, 6 crashes, 2 hangs, 9 slow, 9 right"
    kinds = json.loads((tmp_path / "kinds.json").read_text())
    texts = {path: (tmp_path / path).read_text() for path in kinds}
    assert len(set(texts.values())) == 64 and len(Folder(tmp_path).problems()) == 8
    for path, text in texts.items():
        compile(text, path, "exec")
        assert ("#error" in text) is (kinds[path] == "does not build")


@PROOF
def test_figures_of_a_training_step_go_by_what_a_candidate_is(answers: Path, quick: Path, tmp_path: Path) -> None:
    done = measure(answers, quick, tmp_path, "--phases", "naive_built,cold", "--training-step", "2")
    assert done.returncode == 0, done.stderr
    content = json.loads((tmp_path / "out.json").read_text())
    for phase in content["phases"].values():
        assert phase["finished"] and phase["kernels"] == 4
        assert set(phase["kinds"]) == {"does not build", "wrong", "slow", "right"}
        assert phase["kinds"]["does not build"]["as_due"] == phase["kinds"]["wrong"]["as_due"] == 1
        assert all(row["candidates"] == 1 and row["seconds_each"] > 0 for row in phase["kinds"].values())
        assert 0 < phase["latency_seconds"]["p50"] <= phase["latency_seconds"]["p95"] <= phase["wall_seconds"] + 1
    shown = subprocess.run(
        [sys.executable, str(BENCHMARKS / "throughput.py"), "--page", str(tmp_path / "out.json")],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert "| cold | does not build | 1 | 1 of 1 |" in shown
