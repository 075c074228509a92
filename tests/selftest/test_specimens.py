"""Every specimen through the real evaluator, by the code of `kernelgauge selftest`, and what their headers say."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from kernelgauge.errors import CandidateError, ProblemError
from kernelgauge.evaluation.sides import side
from kernelgauge.sandbox import process
from kernelgauge.schema import Outcome, Problem
from kernelgauge.selftest.self_test import LIMITS, SpecimenResult, left_behind, selftest
from kernelgauge.selftest.specimens import Specimen, problem, specimens
from kernelgauge.session.session import Session

pytestmark = pytest.mark.processes

ALL = specimens()
BY_NAME = {specimen.name: specimen for specimen in ALL}
PAGE = Path(__file__).parents[2] / "docs" / "explanation" / "threat-model.md"
# A row of a table there: class, how it is stopped, by what, specimens.
ROW = re.compile(r"^\| `([a-z]+/[a-z_]+)` \| (\w+) \|.*\| (.*) \|$", re.MULTILINE)


@pytest.fixture(scope="module")
def strict_session(cache_folder: Path) -> Iterator[Session]:
    with Session(threads=1, limits=LIMITS) as session:
        yield session


JUDGING = (
    "sandbox",
    "worker",
    "evaluation/sides",
    "evaluation/supervisor.py",
    "evaluation/checking.py",
    "protocols",
    "selftest/self_test.py",
)
"""What every specimen goes through."""
DEFENCES = {
    "build": (*JUDGING, "backends", "evaluation/build.py", "evaluation/screen.py"),
    "correctness": (*JUDGING, "checks", "evaluation/correctness", "wire"),
    "fault": (*JUDGING, "evaluation/failures.py", "evaluation/retries.py", "wire"),
    "process": (*JUDGING, "deletion.py", "wire"),
    "rules": (*JUDGING, "checks", "evaluation/kernel_rules.py", "backends", "syntax.py"),
    "timing": (*JUDGING, "timing", "evaluation/measurement", "evaluation/rounds.py", "evaluation/pair.py"),
}
"""By area of the threat model: the code that refuses what must be refused there, and accepts what is honest."""


def as_a_proof(specimen: Specimen) -> pytest.ParameterSet:
    """Honest ones take turns by area, the others by class: in every run each class has one that must be refused."""
    honest = specimen.kind == "honest"
    family = f"honest {specimen.area}" if honest else f"refused {specimen.header['class']}"
    text = specimen.source + specimen.problem_on("cpu").source
    proof = pytest.mark.proof(*DEFENCES[specimen.area], text=text, family=family)
    return pytest.param(specimen, id=f"{specimen.kind}/{specimen.name}", marks=proof)


@pytest.fixture(scope="module")
def findings(strict_session: Session, request: pytest.FixtureRequest) -> dict[str, SpecimenResult]:
    """One run over all whose turn it is: honest ones stand between the others, and show what those may have left
    behind."""
    here = [item for item in request.session.items if isinstance(item, pytest.Function) and item.path == request.path]
    asked = [
        item.callspec.params["specimen"] for item in here if item.originalname == "test_specimen_gets_its_verdict"
    ]
    found = selftest(strict_session, asked, "cpu", jobs=2)
    return {finding.path: finding for finding in found}


@pytest.mark.timeout(1800)  # the first of them waits for all
@pytest.mark.parametrize("specimen", [as_a_proof(specimen) for specimen in ALL])
def test_specimen_gets_its_verdict(specimen: Specimen, findings: dict[str, SpecimenResult]) -> None:
    finding = findings[f"{specimen.kind}/{specimen.name}"]
    if finding.verdict == "skipped":
        pytest.skip(finding.why)
    assert finding.verdict == "as due", "\n".join([finding.why, finding.reason, finding.log])


def test_nothing_is_left_behind(findings: dict[str, SpecimenResult], strict_session: Session) -> None:
    assert findings
    assert left_behind(strict_session) == []


def test_there_are_enough_of_each_kind_and_names_are_unique() -> None:
    count = {kind: sum(s.kind == kind for s in ALL) for kind in ("cheats", "honest", "broken")}
    assert count["cheats"] >= 50 and count["honest"] >= 30, count
    assert len(BY_NAME) == len(ALL)


def test_every_outcome_has_a_specimen() -> None:
    assert {s.outcome for s in ALL} == set(Outcome)


def test_every_honest_specimen_passes() -> None:
    assert {s.outcome for s in ALL if s.kind == "honest"} == {Outcome.PASSED}


def test_the_page_has_every_class_and_names_all_that_are_not_honest() -> None:
    named = {match[1]: set(re.findall(r"`(\w+)`", match[3])) for match in ROW.finditer(PAGE.read_text())}
    due: dict[str, set[str]] = {name: set() for name in named}
    for specimen in ALL:
        names = due[specimen.header["class"]]  # a KeyError: the page lacks the class
        names.update([specimen.name] if specimen.kind != "honest" else [])
    assert named == due


def test_every_class_that_is_closed_has_a_specimen_that_is_not_open() -> None:
    closed = {match[1] for match in ROW.finditer(PAGE.read_text()) if match[2] in ("construction", "detected")}
    assert closed <= {s.header["class"] for s in ALL if s.kind != "honest" and "open" not in s.header}


def test_every_class_with_something_to_refuse_has_something_to_accept() -> None:
    honest = {s.header["class"] for s in ALL if s.kind == "honest"}
    assert {s.header["class"] for s in ALL} == honest


@pytest.mark.proof("sandbox", "worker", "evaluation/sides")
@pytest.mark.parametrize(
    ("name", "defence"),
    [("computes_in_the_copy", "looks"), ("slows_the_reference", "check_still"), ("wakes_itself", "check_still")],
)
def test_the_defence_is_what_refuses_it(
    name: str, defence: str, strict_session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the defence switched off the same file passes its checks."""
    monkeypatch.setattr(side.Side, defence, False if defence == "looks" else lambda self: None)
    specimen = BY_NAME[name]
    record = strict_session.evaluate(specimen.problem_on("cpu"), specimen.source, timed=False)
    assert record.outcome is Outcome.PASSED, record.reason


def test_ignored_parameters_pass_where_parameters_are_not_randomised(strict_session: Session) -> None:
    """The defence is what refuses this cheat: under default initialisers the same file passes."""
    source = BY_NAME["ignores_norm_parameters"].source
    record = strict_session.evaluate(problem(), source, device="cpu", protocol="v0.1", timed=False)
    assert record.outcome is Outcome.PASSED


def test_half_precision_passes_under_a_tolerance_of_one_percent(strict_session: Session) -> None:
    source = BY_NAME["half_precision"].source
    record = strict_session.evaluate(problem(), source, device="cpu", protocol="v0.1", timed=False)
    assert record.trials
    assert record.trials[0].error < 10


def test_candidates_of_other_construction_order_pass_by_the_second_route(strict_session: Session) -> None:
    source = BY_NAME["other_construction_order"].source
    assert strict_session.evaluate(problem(), source, device="cpu", timed=False).weight_sync == "state_dict"


def test_a_reference_that_fails_leaves_nothing_behind(strict_session: Session) -> None:
    broken = Problem(key="broken", name="broken", source=problem().source.replace("torch.relu(", "torch.no_such("))
    with pytest.raises(ProblemError, match="no_such"):
        strict_session.evaluate(broken, BY_NAME["same_operations"].source, device="cpu", timed=False)
    assert left_behind(strict_session) == []


def test_text_that_is_no_text_is_refused(strict_session: Session) -> None:
    with pytest.raises(CandidateError, match="not text"):
        strict_session.evaluate(problem(), "x = '\udce9'", device="cpu")


def test_a_machine_where_no_memory_can_be_read_says_so(
    strict_session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "readable", lambda pid: False)
    record = strict_session.evaluate(problem(), BY_NAME["same_operations"].source, timed=False)
    assert record.passed and any("memory cannot be read" in note for note in record.notes), record.notes
