"""What the defences cost: every step is found in the evaluator, and the account adds up."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from factories import quick_protocol

from benchmarks import defences
from kernelgauge.config import load_protocol
from kernelgauge.evaluation import measure
from kernelgauge.evaluation.side import Side
from kernelgauge.problems.loader import load_problem
from kernelgauge.session import Session


def test_a_step_inside_another_is_counted_there_only() -> None:
    account = defences.Account()
    with account.within("outer"):
        time.sleep(0.05)
        with account.within("inner"):
            time.sleep(0.2)
    assert 0.2 <= account.seconds["inner"] < account.seconds["inner"] + account.seconds["outer"] < 2
    assert account.seconds["outer"] < account.seconds["inner"]


def test_the_account_of_an_evaluation_adds_up_and_leaves_no_stopwatch(session: Session, tmp_path: Path) -> None:
    path = tmp_path / "quick.toml"
    path.write_text(quick_protocol())
    before = Side.stage, measure.verify
    row = defences.measured(session, load_problem("1/36", "small"), load_protocol(str(path)), "cpu", 1)
    assert (Side.stage, measure.verify) == before
    steps = {label: seconds for label, seconds in row.items() if label != "total"}
    assert sum(steps.values()) == pytest.approx(row["total"], rel=0.2)
    expected = {label for _, _, label, _, _ in defences.STEPS} - {
        "answers without the work tried",  # learnt by the evaluation before
        "float64 oracle on timed calls",  # only where eager's answer is not near enough
    }
    assert expected <= set(steps)
    shown = defences.table({"1/36": row})
    assert "| **all** | **defence** |" in shown and "| 1/36 | " in shown
