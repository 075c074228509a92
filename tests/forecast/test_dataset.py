"""Data sets from records, and their splits."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from comparisons import H100, H200, make_row
from factories import BOUND, make_candidate, make_environment, make_evaluation, make_header, make_timing
from pydantic import ValidationError

from kernelgauge.errors import StoreError, UsageError
from kernelgauge.forecast import dataset
from kernelgauge.forecast.kernels import Kernel, References, kernels_of
from kernelgauge.forecast.splits import FOLDS, folds, on_both
from kernelgauge.problems.loader import load_problem
from kernelgauge.schema import Attempt, AttemptRecord
from kernelgauge.schema.forecast import TIE, Comparison
from kernelgauge.store.run import Run


def judged(folder: Path, *speeds: float | None, problem: str = "1/19", gpu: str = H200, **changes: object) -> Run:
    """A run with an answer of each of these speeds to a problem; None: one that was wrong."""
    found = load_problem(problem)
    run = Run.create(folder, make_header(problems=(problem,), samples=len(speeds)))
    for sample, speed in enumerate(speeds):
        candidate = make_candidate(problem, f"class ModelNew: ...  # {sample}\n", sample=sample)
        record = make_evaluation(
            problem,
            speed,
            "passed" if speed else "wrong_value",
            sample=sample,
            candidate_digest=candidate.digest,
            problem_digest=found.digest,
            environment=make_environment(gpu=gpu),
            **(changes if speed else {name: value for name, value in changes.items() if name != "bound"}),
        )
        run.append(record, candidate)
    run.close()
    return Run.read(folder)


def rows_in(*runs: Run) -> tuple[list[Comparison], dict[str, int]]:
    references = References()
    kernels: list[Kernel] = []
    without: dict[str, int] = {}
    for run in runs:
        found, left = kernels_of(run, references)
        kernels += found
        without |= left
    return dataset.rows_of(kernels, references), without


def test_each_kernel_is_a_row_and_each_two_that_passed_another(tmp_path: Path) -> None:
    rows, without = rows_in(judged(tmp_path / "run", 2.0, 0.5, 1.003, None))
    assert not without
    references = [row for row in rows if row.kind == "reference"]
    assert sorted((row.speedup or 0) for row in references) == [0, 0.5, 1.003, 2.0]
    assert [row.label for row in references if row.speedup == 1.003] == [TIE]
    assert {row.anchor.source for row in references} == {load_problem("1/19").source}
    wrong = next(row for row in references if row.speedup is None)
    assert (wrong.outcome, wrong.interval, wrong.label, wrong.octaves) == ("wrong_value", None, None, None)
    pairs = [row for row in rows if row.kind == "pair"]
    speeds = {row.candidate.digest: row.speedup for row in references}
    assert len(pairs) == 3
    for row in pairs:
        assert row.speedup == pytest.approx((speeds[row.candidate.digest] or 0) / (speeds[row.anchor.digest] or 1))


def test_the_interval_of_a_pair_holds_that_of_both() -> None:
    low, high = dataset.ratio_interval(2.0, (1.9, 2.1), 1.0, (0.9, 1.1))
    assert low == pytest.approx(2.0 * math.exp(-math.hypot(math.log(2 / 1.9), math.log(1.1))))
    assert high == pytest.approx(2.0 * math.exp(math.hypot(math.log(2.1 / 2), math.log(1 / 0.9))))
    # The other way round it is the same interval of the reciprocal.
    other = dataset.ratio_interval(1.0, (0.9, 1.1), 2.0, (1.9, 2.1))
    assert other == pytest.approx((1 / high, 1 / low))


def test_kernels_of_different_devices_or_protocols_make_no_pair(tmp_path: Path) -> None:
    one, other = judged(tmp_path / "one", 2.0), judged(tmp_path / "other", 3.0, gpu=H100)
    rows, _ = rows_in(one, other)
    assert [row.kind for row in rows] == ["reference", "reference"]


def test_what_foretells_nothing_is_left_out_with_its_reason(tmp_path: Path) -> None:
    rows, without = rows_in(
        judged(tmp_path / "weak", 2.0, trivial_answers=("zeros",)),
        judged(tmp_path / "wide", 2.0, timing=make_timing(2.0).model_copy(update={"interval": (0.4, 4.0)})),
    )
    assert without == {"of problems that do not count under their protocol": 1}
    # Its interval tells nothing, but it is known to be right.
    assert [(row.speedup, row.passed) for row in rows] == [(None, True)]
    changed = judged(tmp_path / "changed", 2.0)
    record = changed.evaluations()[0].model_copy(update={"problem_digest": "0" * 16})
    changed.evaluations = lambda: [record]  # type: ignore[method-assign]
    assert kernels_of(changed, References()) == ([], {"of problems whose text has changed or gone": 1})


@pytest.mark.parametrize("way", ["renamed", "inherited"])
def test_a_copy_of_the_reference_is_left_out(tmp_path: Path, way: str) -> None:
    reference = load_problem("1/19")
    renamed = reference.source.replace("class Model(", "class ModelNew(")
    inherited = f"{reference.source}\n\nclass ModelNew(Model):\n    pass\n"
    copy = make_candidate("1/19", renamed if way == "renamed" else inherited)
    run = Run.create(tmp_path / "aa", make_header(problems=("1/19",)))
    run.append(make_evaluation("1/19", 1.0, candidate_digest=copy.digest, problem_digest=reference.digest), copy)
    run.close()
    assert rows_in(Run.read(tmp_path / "aa")) == ([], {"copies of their reference": 1})


def test_what_is_known_of_a_problem_comes_from_other_kernels(tmp_path: Path) -> None:
    """A lone record has a reference's time only if its candidate was right: the lack of one would tell."""
    alone, _ = rows_in(judged(tmp_path / "alone", 2.0, bound=BOUND))
    assert [(row.anchor_ms, row.work, row.bound_ms) for row in alone] == [(None, None, None)]


def test_what_is_known_of_a_problem_gives_away_nobody(tmp_path: Path) -> None:
    """Of a right and a wrong kernel the wrong one alone would have the reference's time."""
    rows, _ = rows_in(judged(tmp_path / "one", 2.0, None, None, bound=BOUND))
    assert [(row.anchor_ms, row.work, row.bound_ms) for row in rows] == [(None, None, None)] * 3
    rows, _ = rows_in(judged(tmp_path / "two", 2.0, 0.5, None, bound=BOUND))
    found = {(row.anchor_ms, row.work) for row in rows if row.kind == "reference"}
    assert found == {(2.0, BOUND.work)} and all(row.bound_ms for row in rows)


def test_a_copy_says_how_long_the_reference_takes(tmp_path: Path) -> None:
    reference = load_problem("1/19")
    copy = make_candidate("1/19", reference.source.replace("class Model(", "class ModelNew("))
    run = Run.create(tmp_path / "aa", make_header(problems=("1/19",)))
    run.append(
        make_evaluation("1/19", 1.0, candidate_digest=copy.digest, problem_digest=reference.digest, bound=BOUND), copy
    )
    run.close()
    rows, without = rows_in(judged(tmp_path / "run", 2.0, None), Run.read(tmp_path / "aa"))
    assert without == {"copies of their reference": 1}
    assert [(row.anchor_ms, row.work) for row in rows] == [(2.0, BOUND.work)] * 2
    assert all(row.bound_ms for row in rows)  # by the data sheet of the GPU


def test_all_judged_attempts_of_a_search_are_rows(tmp_path: Path) -> None:
    run = judged(tmp_path / "run", 2.0)
    source = "class ModelNew: ...  # tried before\n"
    tried = make_evaluation(
        "1/19",
        0.7,
        candidate_digest=make_candidate("1/19", source).digest,
        problem_digest=load_problem("1/19").digest,
    )
    with Run.open(run.path) as writing:
        writing.append_attempt(
            AttemptRecord(
                problem="1/19",
                problem_digest=tried.problem_digest,
                sample=0,
                number=0,
                attempt=Attempt(answer=source, source=source, evaluation=tried),
            )
        )
    rows, _ = rows_in(Run.read(run.path))
    assert sorted(row.speedup or 0 for row in rows if row.kind == "reference") == [0.7, 2.0]


@pytest.mark.parametrize("name", ["data.jsonl", "data.jsonl.xz"])
def test_a_file_gives_back_what_was_written(tmp_path: Path, name: str) -> None:
    rows = [make_row("1/1", 2.0), make_row("1/2", None)]
    dataset.write(tmp_path / name, rows)
    assert dataset.read(tmp_path / name, Comparison) == rows


def test_a_damaged_file_is_named(tmp_path: Path) -> None:
    path = tmp_path / "data.jsonl"
    with pytest.raises(StoreError, match=r"data\.jsonl is missing or holds no rows"):
        dataset.read(path, Comparison)
    path.write_text('{"id": 3}\n')
    with pytest.raises(StoreError, match=r"data\.jsonl, line 1 is not a valid Comparison"):
        dataset.read(path, Comparison)
    (tmp_path / "data.xz").write_bytes(b"no such thing")
    with pytest.raises(StoreError, match="no whole xz file"):
        dataset.read(tmp_path / "data.xz", Comparison)


def test_a_question_holds_no_answer() -> None:
    said = make_row("1/1", 1.37).question.model_dump_json()
    assert "1.37" not in said.replace("# 1/1 1.37", "") and "outcome" not in said and "interval" not in said


@pytest.mark.parametrize(
    "wrong",
    [
        {"outcome": "wrong_value"},
        {"interval": (2.1, 2.2)},
        {"interval": None},
        {"interval": (0.5, 9.0)},
        {"kind": "pair", "speedup": None, "interval": None},
    ],
)
def test_a_row_that_contradicts_itself_cannot_be_made(wrong: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        make_row("1/1", **{"speedup": 2.0, **wrong})  # type: ignore[arg-type]


def a_set() -> list[Comparison]:
    """Thirty problems by two contestants on two GPUs; one contestant's kernels are the same on both."""
    rows = []
    for number in range(30):
        for gpu in (H100, H200):
            rows.append(make_row(f"1/{number}", 1.5, gpu=gpu, contestant="inductor", source=f"a {number}"))
            rows.append(make_row(f"1/{number}", 0.5, gpu=gpu, contestant="person", source=f"b {number} {gpu}"))
    return rows


def test_no_problem_is_on_both_sides_of_a_split_and_every_row_is_tested_once() -> None:
    rows = a_set()
    parts = folds(rows, "problem")
    assert len(parts) == FOLDS
    for part in parts:
        assert not {row.problem for row in part.train} & {row.problem for row in part.test}
    assert sorted(row.id for part in parts for row in part.test) == sorted(row.id for row in rows)


def test_no_contestant_is_on_both_sides() -> None:
    pair = make_row("1/0", 1.2, kind="pair", contestant="person", anchor=make_row(contestant="inductor").candidate)
    for part in folds([*a_set(), pair], "contestant"):
        assert {row.candidate.contestant for row in part.test} == {part.held_out}
        assert not any(part.held_out in row.contestants for row in part.train)


def test_no_text_of_a_contestant_is_learnt_from_somebody_else() -> None:
    copied = make_row("1/0", 1.5, contestant="person", source="a 0")
    pair = make_row("1/0", 1.2, kind="pair", contestant="third", anchor=copied.candidate)
    (part,) = [part for part in folds([*a_set(), copied, pair], "contestant") if part.held_out == "inductor"]
    texts = {row.candidate.digest for row in part.test}
    assert part.train and not any({row.candidate.digest, row.anchor.digest} & texts for row in part.train)


def test_an_unseen_gpu_may_have_the_same_kernels() -> None:
    rows = a_set()
    for part in folds(rows, "gpu"):
        assert {row.gpu for row in part.test} == {part.held_out} and part.held_out not in {r.gpu for r in part.train}
    same = folds(rows, "same-kernels")
    assert {row.candidate.contestant for part in same for row in part.test} == {"inductor"}
    assert len(on_both(rows)) == 60


def test_a_split_of_one_gpu_is_refused() -> None:
    with pytest.raises(UsageError, match="needs two GPUs"):
        folds([make_row("1/1"), make_row("1/2")], "gpu")
