"""Every specimen through the real evaluator: each outcome is reached, and none harms the next evaluation."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from kernelgauge.config import Limits
from kernelgauge.errors import CandidateError, ProblemError
from kernelgauge.evaluation.specimens import Specimen, problem, specimens
from kernelgauge.schema import Outcome, Problem
from kernelgauge.session import Session

ALL = specimens()
HONEST = next(s for s in ALL if s.name == "same_operations")


@pytest.fixture(scope="module")
def strict_session(cache_folder: Path) -> Iterator[Session]:
    limits = Limits(load_seconds=15, call_seconds=12, memory_gb=1.5)
    with Session(limits=limits) as session:
        yield session


def left_behind(session: Session) -> list[Path]:
    """What is in the scratch folders of this cache while no worker runs."""
    return list((session.settings.cache / "scratch").glob("*/*"))


@pytest.mark.parametrize("specimen", ALL, ids=lambda s: f"{s.kind}/{s.name}")
def test_specimen_gets_its_verdict_and_harms_nothing(specimen: Specimen, strict_session: Session) -> None:
    if not specimen.runs_on("cpu"):
        pytest.skip(f"cannot be judged here: {specimen.header.get('needs')}")
    asked = {"backend": specimen.backend, "rules": specimen.rules}
    record = strict_session.evaluate(problem(), specimen.source, device="cpu", timed=False, **asked)
    assert (record.outcome, record.rule) == (specimen.outcome, specimen.rule), record.reason + record.log
    assert record.passed or record.reason
    assert left_behind(strict_session) == []
    after = strict_session.evaluate(problem(), HONEST.source, device="cpu", timed=False)
    assert after.outcome is Outcome.PASSED, after.reason


def test_memory_violation_is_named(strict_session: Session) -> None:
    source = next(s.source for s in ALL if s.name == "segmentation_fault")
    assert "memory violation" in strict_session.evaluate(problem(), source, device="cpu").reason


def test_every_outcome_but_build_failed_has_a_specimen() -> None:
    assert {s.outcome for s in ALL} == set(Outcome) - {Outcome.BUILD_FAILED}


def test_ignored_parameters_pass_where_parameters_are_not_randomised(strict_session: Session) -> None:
    """The defence is what refuses this cheat: under default initialisers the same file passes."""
    source = next(s.source for s in ALL if s.name == "ignores_norm_parameters")
    record = strict_session.evaluate(problem(), source, device="cpu", protocol="v0.1", timed=False)
    assert record.outcome is Outcome.PASSED


def test_half_precision_passes_under_a_tolerance_of_one_percent(strict_session: Session) -> None:
    source = next(s.source for s in ALL if s.name == "half_precision")
    record = strict_session.evaluate(problem(), source, device="cpu", protocol="v0.1", timed=False)
    assert record.trials
    assert record.trials[0].error < 10


def test_candidates_of_other_construction_order_pass_by_the_second_route(strict_session: Session) -> None:
    source = next(s.source for s in ALL if s.name == "other_construction_order")
    assert strict_session.evaluate(problem(), source, device="cpu", timed=False).route == "state_dict"


def test_work_after_the_clock_is_charged(strict_session: Session, tmp_path: Path) -> None:
    """It sleeps for 20 ms while it is copied out: every one of its samples must say so."""
    source = next(s.source for s in ALL if s.name == "lazy_tensor")
    record = strict_session.evaluate(problem(), source, device="cpu")
    assert record.timing is not None, record.reason
    assert record.standing == "slower"
    assert min(record.timing.candidate_samples_ms) > 15, "20, less what a busy machine took of the reference's copies"
    assert record.timing.late_work_ms > 20


@pytest.mark.parametrize(
    ("name", "outcome"), [("computes_in_a_child", Outcome.PASSED), ("leaves_its_group", Outcome.TIMED_OUT)]
)
def test_a_child_is_stopped_between_timed_calls_and_only_one_of_the_own_group_goes_on(
    strict_session: Session, name: str, outcome: Outcome
) -> None:
    source = next(s.source for s in ALL if s.name == name)
    assert strict_session.evaluate(problem(), source, device="cpu").outcome is outcome


def test_a_reference_that_fails_leaves_nothing_behind(strict_session: Session) -> None:
    broken = Problem(key="broken", name="broken", source=problem().source.replace("torch.relu(", "torch.no_such("))
    with pytest.raises(ProblemError, match="no_such"):
        strict_session.evaluate(broken, HONEST.source, device="cpu", timed=False)
    assert left_behind(strict_session) == []


def test_text_that_is_no_text_is_refused(strict_session: Session) -> None:
    with pytest.raises(CandidateError, match="not text"):
        strict_session.evaluate(problem(), "x = '\udce9'", device="cpu")
