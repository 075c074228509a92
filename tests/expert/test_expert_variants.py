"""What was tried for the kernels of `expert`: texts that run and are right, and what a run of them says."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from factories import make_answer, make_header
from h100_kernels import SHARED_MEMORY, compiled, two_trials

from benchmarks.expert_variants import Variant, show, variants, write
from kernelgauge.backends.registry import detect
from kernelgauge.config import Limits
from kernelgauge.errors import UsageError
from kernelgauge.generation.folder import Folder
from kernelgauge.problems.loader import load_problem
from kernelgauge.schema import Candidate, Evaluation
from kernelgauge.session.session import Session
from kernelgauge.store.run import Run

pytest.importorskip("triton", reason="the extra triton is not installed")

TRIED = [each for each in variants() if each.sample]
EACH = pytest.mark.parametrize(
    "variant",
    [each for each in TRIED if detect(each.text) == "triton"],
    ids=lambda each: f"{each.problem}-{each.sample}",
)


@pytest.fixture(scope="module")
def patient(cache_folder: Path) -> Iterator[Session]:
    """The interpreter takes seconds for what a GPU does in microseconds."""
    with Session(device="cpu", limits=Limits(hang_seconds=60.0)) as made:
        yield made


@pytest.fixture(scope="module")
def protocol(tmp_path_factory: pytest.TempPathFactory) -> str:
    return two_trials(tmp_path_factory.mktemp("protocol"))


@pytest.mark.processes
@pytest.mark.nightly
@EACH
def test_it_is_right(variant: Variant, patient: Session, protocol: str) -> None:
    record = patient.evaluate(
        load_problem(variant.problem, "odd"),
        variant.text,
        backend="triton",
        timed=False,
        protocol=protocol,
        kernel_policy="any",
    )
    assert record.passed, record.reason


@pytest.mark.processes
@pytest.mark.nightly
@EACH
def test_it_compiles_for_an_h100_and_fits(variant: Variant, tmp_path: Path) -> None:
    kernels = compiled(variant.problem, variant.text, tmp_path)
    assert kernels and max(kernels.values()) <= SHARED_MEMORY, kernels


def test_a_change_that_does_not_fit_is_named(tmp_path: Path) -> None:
    data = tmp_path / "changes.toml"
    data.write_text(
        '[[problem]]\nkey = "1/12"\nfamily = "x"\nvariant = [{ name = "few", change = [["THREADS = 7", ""]] }]\n'
    )
    with pytest.raises(UsageError, match=r"1/12, few: 'THREADS = 7' is there 0 times"):
        variants(data)


def answer(sample: int, **changes: Any) -> tuple[Evaluation, Candidate]:
    record, candidate = make_answer("1/49", sample=sample, **changes)
    return record, candidate.model_copy(update={"sample": sample})


def test_a_folder_of_them_is_a_contestant_and_a_run_of_it_says_what_was_tried(tmp_path: Path) -> None:
    said = list(write(tmp_path / "made"))
    contestant = Folder(tmp_path / "made")
    assert len(said) > 2 and f"{len(TRIED) + len(contestant.problems())} candidates" in said[0]
    assert len(TRIED) + len(contestant.problems()) <= 90, "what one GPU judges in six minutes"
    assert contestant.samples("1/49")[0] == 0 and len(contestant.samples("1/49")) > 3
    with pytest.raises(UsageError, match="not empty"):
        list(write(tmp_path / "made"))

    run = Run.create(tmp_path / "run", make_header(problems=("1/49",), protocol="quick"))
    for sample, speedup in enumerate([0.9, 1.2, 0.901, 0.8]):
        run.append(*answer(sample, speedup=speedup, seed=sample))
    run.append(*answer(4, speedup=None, outcome="wrong_precision"))
    lines = list(show([run.path], tmp_path / "made" / "manifest.json", tmp_path / "tried"))
    names = [each.name for each in TRIED if each.problem == "1/49"]
    assert f"{names[0]}: 25 % less time; {names[1]}: no difference; {names[2]}: 12 % more time" in lines[1]
    assert f"{names[3]}: wrong precision" in lines[1] and f"! {names[0]} is faster" in lines[2]
    table = (tmp_path / "tried.md").read_text()
    assert f"| 1/49 | columns | {names[2]} | 2.5 | 1.12" in table and "as shipped" in table
    rows = json.loads((tmp_path / "tried.json").read_text())["rows"]
    assert [row["verdict"] for row in rows] == ["as shipped", "faster", "no difference", "slower", "wrong precision"]
