"""A log of Inspect and the run folder written beside it say the same: header, attempts, figures, tables, boards."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("inspect_ai", reason="needs the extra inspect")

from asking import RIGHT, WRONG, asked, close_judges, fenced, lines, replaying
from factories import make_evaluation, make_log
from inspect_ai.log import EvalLog, read_eval_log, write_eval_log

import kernelgauge as kg
from kernelgauge.errors import StoreError
from kernelgauge.leaderboard.boards import boards
from kernelgauge.leaderboard.entries import published
from kernelgauge.report.figures.scores import score_run
from kernelgauge.report.table import Records
from kernelgauge.report.tables.columns import TABLES
from kernelgauge.report.tables.frames import as_text
from kernelgauge.schema import Evaluation, NoCandidate

RAISES = RIGHT.replace("return x", "return x.nope()")
ANSWERS = {"a": [RAISES, WRONG, RIGHT], "b": ["No."], "c": [WRONG, RIGHT, RIGHT]}


def a_search(tmp_path: Path, problem: str, quick: str, **task: Any) -> tuple[EvalLog, Path]:
    """Three problems, to one of which no candidate is given; timed."""
    paths = {name: tmp_path / f"{name}.py" for name in ANSWERS}
    rows = []
    for name, path in paths.items():
        path.write_text(Path(problem).read_text() + f"# {name}\n")
        for said in ANSWERS[name]:
            answer = fenced(said) if "class" in said else said
            rows.append({"problem": str(path), "answer": answer})
    (tmp_path / "answers.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    given = {"strategy": "refine,turns=3", "budget": "calls=20", "measure_performance": True, **task}
    model = replaying(str(tmp_path / "answers.jsonl"))
    named = ",".join(map(str, paths.values()))
    log = asked(model, tmp_path / "logs", named, quick, out=str(tmp_path / "run"), **given)
    return log, tmp_path / "run"


def without_time(header: Any) -> dict[str, Any]:
    said: dict[str, Any] = header.model_dump()
    return {name: value for name, value in said.items() if name != "created"}


def rows_of(run: Records, table: str) -> list[dict[str, Any]]:
    """In the order of problems, without what tells a log from a folder."""
    rows = json.loads(as_text([run], TABLES[table], "json"))
    apart = ("run", "created") if table in ("attempts", "no_candidates") else ("run",)
    kept = [{name: value for name, value in row.items() if name not in apart} for row in rows]
    return sorted(kept, key=lambda row: json.dumps(row, sort_keys=True))


@pytest.mark.proof("models", "search", "generation")
@pytest.mark.parametrize("strategy", ["refine,turns=3", "react"])
def test_a_log_says_what_its_run_folder_says(tmp_path: Path, problem: str, quick: str, strategy: str) -> None:
    log, folder = a_search(tmp_path, problem, quick, strategy=strategy)
    logged, stored = kg.load(log.location), kg.load(folder)
    assert without_time(logged.header) == without_time(stored.header)
    assert logged.header.generation is not None
    assert logged.header.generation.strategy.startswith(strategy.partition(",")[0])
    assert logged.header.generation.budget.calls == 20
    tried = [
        {(r.problem, r.sample, r.number): (r.problem_digest, r.attempt) for r in run.attempts()}
        for run in (logged, stored)
    ]
    assert tried[0] == tried[1] and len(tried[0]) > 5
    assert any(attempt.evaluation and attempt.evaluation.timing for _, attempt in tried[0].values())
    for table in TABLES:
        assert rows_of(logged, table) == rows_of(stored, table), table
    figures = [score_run(run).model_dump(exclude={"header", "no_candidates", "spending"}) for run in (logged, stored)]
    assert figures[0] == figures[1]
    mine, its = logged.spent(), stored.spent()
    assert mine.model_copy(update={"seconds": 0.0}) == its.model_copy(update={"seconds": 0.0})
    assert mine.seconds == pytest.approx(its.seconds)
    (ours,), (theirs,) = (boards([published(run)]) for run in (logged, stored))
    assert ours.setting == theirs.setting
    assert [row.contestant for row in ours.standings["all"]] == [row.contestant for row in theirs.standings["all"]]


@pytest.mark.proof("models", "search", "generation")
def test_a_log_without_a_kept_header_says_what_the_tasks_arguments_say(
    tmp_path: Path, problem: str, quick: str
) -> None:
    log, folder = a_search(tmp_path, problem, quick)
    old = read_eval_log(log.location)
    for step in old.plan.steps:
        step.params.pop("header", None)
    for sample in old.samples or []:
        sample.store.pop("kernelgauge_told")
    write_eval_log(old, str(tmp_path / "old.eval"))
    known, stored = without_time(kg.load(tmp_path / "old.eval").header), without_time(kg.load(folder).header)
    lost = {"prompt_digest": "", "model_args": None}
    assert known["generation"] == {**stored["generation"], **lost}
    assert {**known, "generation": None, "command": ""} == {**stored, "generation": None, "command": ""}


@pytest.mark.processes
def test_a_log_in_which_nobody_gave_a_candidate_is_read_as_its_folder_is(
    tmp_path: Path, problem: str, quick: str
) -> None:
    path = lines(tmp_path / "none.jsonl", {(problem, 0): "No."})
    out = tmp_path / "run"
    log = asked(replaying(path), tmp_path / "logs", problem, quick, out=str(out), max_regenerations=2)
    logged = kg.load(log.location)
    assert without_time(logged.header) == without_time(kg.load(out).header)
    assert [skip.problem for skip in logged.skips()] == [problem] and len(logged.attempts()) == 1
    assert score_run(logged).overall.no_candidate == 1


def test_what_is_scored_again_stands_under_its_new_protocol(tmp_path: Path) -> None:
    again = make_evaluation("1/1", protocol="v0.1", protocol_digest="f" * 16)
    log = make_log([(again, "lost"), (NoCandidate(problem="1/2", contestant="x", reason="none"), None)])
    write_eval_log(log, str(tmp_path / "log.eval"))
    header = kg.load(tmp_path / "log.eval").header
    assert (header.protocol, header.protocol_digest, header.generation) == ("v0.1", "f" * 16, None)


def test_a_log_of_a_task_that_was_cancelled_says_so_on_its_board(tmp_path: Path) -> None:
    log = make_log([(make_evaluation("1/1"), "lost")])
    log.status = "cancelled"
    write_eval_log(log, str(tmp_path / "log.eval"))
    (board,) = boards([published(kg.load(tmp_path / "log.eval"))])
    told = "log.eval: the log log.eval is of a task that was cancelled: samples may be missing."
    assert board.notes == (told,) and board.standings["all"][0].unfinished


def test_attempts_that_are_none_of_ours_are_refused_with_their_place(tmp_path: Path) -> None:
    record: Evaluation = make_evaluation("1/1")
    log = make_log([(record, "lost")])
    log.samples[0].store["attempts"] = [{"answer": 3}]
    write_eval_log(log, str(tmp_path / "log.eval"))
    with pytest.raises(StoreError, match=r"log.eval, sample 1/1, epoch 1: not our attempts: .*answer"):
        kg.load(tmp_path / "log.eval")


@pytest.fixture(autouse=True, scope="module")
def _closed_judges() -> Iterator[None]:
    yield
    close_judges()
