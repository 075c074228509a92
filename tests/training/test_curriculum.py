"""Problems in the order of their headroom, and what is said where none is known."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from commands import command_here
from factories import BOUND, make_candidate, make_evaluation, make_header

from kernelgauge.errors import UsageError
from kernelgauge.problems.loader import load_problem
from kernelgauge.schema import Evaluation
from kernelgauge.store.run import Run
from kernelgauge.training.curriculum import headrooms, measured_headroom, stages


def judged(problem: str, headroom: float | None, **changes: Any) -> Evaluation:
    bound = BOUND.model_copy(update={"headroom": headroom}) if headroom else None
    text = load_problem(problem)
    return make_evaluation(problem, **{"problem_digest": text.digest, "bound": bound, **changes})


def run(folder: Path, *records: Evaluation) -> Path:
    with Run.create(folder, make_header(problems=tuple(each.problem for each in records))) as store:
        for record in records:
            store.append(record, make_candidate(record.problem))
    return folder


def test_the_headroom_is_that_of_eager_on_the_text_as_it_is() -> None:
    records = [
        judged("1/19", 2.0, sample=1),
        judged("1/19", 3.0, sample=0),
        judged("1/20", 4.0, sample=1),
        judged("1/21", 5.0, problem_digest="0123456789abcdef"),
        judged("1/22", None),
    ]
    assert headrooms(records) == {"1/19": 3.0, "1/20": 4.0}


def test_stages_are_equally_large_and_the_most_headroom_comes_first() -> None:
    headroom = {"a": 1.0, "b": 9.0, "c": 3.0, "d": 5.0, "e": 7.0}
    assert list(stages(headroom, 2).items()) == [("b", 0), ("e", 0), ("d", 0), ("c", 1), ("a", 1)]
    assert set(stages(headroom, 1).values()) == {0}
    assert list(stages(headroom, 5).values()) == [0, 1, 2, 3, 4]
    assert stages({}, 3) == {}


def test_where_no_baseline_is_a_sentence_says_what_makes_one(tmp_path: Path) -> None:
    with pytest.raises(
        UsageError,
        match=rf"no baseline in {tmp_path}/none: `kernelgauge baseline --suite mine --modes eager --out {tmp_path}/n",
    ):
        measured_headroom(tmp_path / "none", ["mine:1/1", "mine:1/2"])
    unmeasured = run(tmp_path / "unmeasured", judged("1/19", None))
    with pytest.raises(UsageError, match="have no bound: `kernelgauge doctor --measure --device cuda`, then `"):
        measured_headroom(unmeasured, ["1/19"])
    others = run(tmp_path / "others", judged("1/20", 2.0))
    with pytest.raises(UsageError, match=r"no problem of those asked for has a headroom in .*/others: `k"):
        measured_headroom(others, ["1/19"])


def test_a_data_set_is_in_the_order_of_the_curriculum(tmp_path: Path) -> None:
    folder = run(tmp_path / "run", judged("1/19", 2.0), judged("1/23", 8.0), judged("2/76", 4.0))
    asked = ["--problems", "1/19,1/20,1/23,2/76", "--backend", "triton", "--sizes", "small", "--device", "cpu"]
    out = tmp_path / "rows.jsonl"
    line = ["problems", "dataset", *asked, "--out", str(out), "--headroom", str(folder), "--stages", "3"]
    done = command_here(*line)
    assert done.returncode == 0 and f"{out}: 4 problems" in done.stdout
    assert "1 of 4 problems, such as 1/20, have no headroom in" in done.stderr
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    assert [(row["problem"], row["headroom"], row["stage"]) for row in rows] == [
        *[("1/23", 8.0, 0), ("2/76", 4.0, 1), ("1/19", 2.0, 2), ("1/20", None, None)]
    ]
    for row in rows:
        (message,) = row["prompt"]
        assert (
            message["role"] == "user" and load_problem(row["problem"], "small").source.strip() in message["content"]
        )
        assert (row["backend"], row["split"], row["distance"]) == ("triton", None, None)


def test_a_split_that_a_suite_has_not_is_refused(tmp_path: Path) -> None:
    done = command_here("problems", "dataset", "--split", "train", "--out", str(tmp_path / "rows.jsonl"))
    assert done.returncode == 2 and "`kernelgauge problems generate` splits what it draws" in done.stderr
    assert not (tmp_path / "rows.jsonl").exists()
