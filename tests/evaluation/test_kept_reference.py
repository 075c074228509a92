"""Candidates of one problem that are judged one after the other share its reference; nothing else of one reaches the
next."""

from __future__ import annotations

import contextlib
from dataclasses import replace

import pytest

from kernelgauge.config import load_protocol
from kernelgauge.errors import MachineError, ProblemError
from kernelgauge.evaluation.correctness.trials import check
from kernelgauge.evaluation.failures import Failure
from kernelgauge.evaluation.job import Job
from kernelgauge.evaluation.pair import KeptReference, Sides
from kernelgauge.evaluation.progress import Account
from kernelgauge.evaluation.sides.prefork import PreforkPool
from kernelgauge.evaluation.sides.reference import Reference
from kernelgauge.schema import Candidate, Outcome, Problem
from kernelgauge.session.session import Session

pytestmark = pytest.mark.processes

PROBLEM = """
import torch


class Model(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.linear = torch.nn.Linear(width, width)

    def forward(self, x):
        return self.linear(x)


def get_inputs():
    return [torch.rand(16, 32)]


def get_init_inputs():
    return [32]
"""
RIGHT = PROBLEM.split("\n\ndef get_inputs")[0].replace("class Model(", "class ModelNew(")
WRONG = RIGHT.replace("self.linear(x)", "self.linear(x) * 1.5")
RAISES = RIGHT.replace("return self.linear(x)", "raise RuntimeError('no kernel image')")
DOES_NOT_LOAD = "this is no Python\n"


class Evaluations:
    """One after the other, as a device would make them."""

    def __init__(self, session: Session, protocol: str = "strict"):
        self.session, self.protocol = session, load_protocol(protocol)
        zygote = session.supervisor.zygote
        self.sides = Sides(zygote, PreforkPool(zygote))
        self.kept = KeptReference(Account())

    def job(self, source: str, text: str = PROBLEM) -> Job:
        problem = Problem(key="own", name="own", source=text)
        candidate = Candidate(problem="own", source=source, backend="torch")
        return self.session.job(problem, candidate, self.protocol, "cpu")

    def judge(self, job: Job) -> tuple[Reference, Failure | None]:
        account = Account()
        self.kept.begin(job, account)
        with self.sides.opened(job, None, "seed", account, self.kept) as (reference, candidate):
            return reference, check(reference, candidate).failure


@pytest.fixture
def evaluations(session: Session) -> Evaluations:
    made = Evaluations(session)
    with contextlib.closing(made.kept):
        yield made  # type: ignore[misc]


def test_the_next_candidate_goes_on_with_fresh_inputs(evaluations: Evaluations) -> None:
    first, failure = evaluations.judge(evaluations.job(WRONG))
    assert failure is not None and failure.outcome is Outcome.WRONG_VALUE
    pids, seed = (first.side.process.pid, first._oracle._process.pid), first.weight_seed  # type: ignore[union-attr]
    inputs = first.master.bytes.clone()
    second, failure = evaluations.judge(evaluations.job(RIGHT))
    assert failure is None
    assert second is first and second.weight_seed == seed
    assert (second.side.process.pid, second._oracle._process.pid) == pids  # type: ignore[union-attr]
    assert not (second.master.bytes == inputs).all()


def test_a_side_that_was_timed_is_made_anew(evaluations: Evaluations) -> None:
    first, _ = evaluations.judge(evaluations.job(RIGHT))
    side = first.side
    first.timed = True
    second, failure = evaluations.judge(evaluations.job(RIGHT))
    assert failure is None and second is first
    assert second.side is not side and not side.process.alive()


@pytest.mark.parametrize("source", [RAISES, DOES_NOT_LOAD])
def test_what_a_candidate_does_wrong_ends_no_reference(evaluations: Evaluations, source: str) -> None:
    first, _ = evaluations.judge(evaluations.job(RIGHT))
    with contextlib.suppress(Failure):
        evaluations.judge(evaluations.job(source))
    second, failure = evaluations.judge(evaluations.job(RIGHT))
    assert failure is None and second is first


def test_what_was_noted_of_one_is_not_said_of_the_next(evaluations: Evaluations) -> None:
    first, _ = evaluations.judge(evaluations.job(RIGHT))
    first.notes.append("of this candidate")
    second, _ = evaluations.judge(evaluations.job(RIGHT))
    assert second is first and "of this candidate" not in second.notes


def test_another_problem_or_secrets_that_are_published_begin_anew(session: Session) -> None:
    for protocol, change in (("strict", "# another text\n"), ("v0.1", "")):
        made = Evaluations(session, protocol)
        with contextlib.closing(made.kept):
            first, _ = made.judge(made.job(RIGHT))
            second, failure = made.judge(made.job(RIGHT, PROBLEM + change))
            assert failure is None and second is not first
            assert not first.side.process.alive()


def test_nobody_shares_parameters_for_ever(evaluations: Evaluations) -> None:
    job = evaluations.job(RIGHT)
    evaluations.judge(job)
    assert all(evaluations.kept.begin(replace(job), Account()) for _ in range(15))
    assert not evaluations.kept.begin(job, Account())


def test_a_kept_reference_that_fails_is_the_machines_fault(evaluations: Evaluations) -> None:
    first, _ = evaluations.judge(evaluations.job(RIGHT))
    account = Account()
    assert evaluations.kept.begin(evaluations.job(RIGHT), account)
    asked = (evaluations.job(RIGHT), None, "seed", account, evaluations.kept)
    with pytest.raises(MachineError, match="kept from another"), evaluations.sides.opened(*asked):  # type: ignore[arg-type]
        raise ProblemError("the reference fails")
    assert not first.side.process.alive(), "and is not kept further"
    with pytest.raises(ProblemError), evaluations.sides.opened(*asked):  # type: ignore[arg-type]
        raise ProblemError("of its own")


def test_what_has_died_is_not_kept(evaluations: Evaluations) -> None:
    job, account = evaluations.job(RIGHT), Account()
    evaluations.kept.begin(job, account)
    with evaluations.sides.opened(job, None, "seed", account, evaluations.kept) as (first, _):
        first.side.process.kill()
        first.side.process.await_end()
    assert not evaluations.kept.begin(job, Account())
