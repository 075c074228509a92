"""Judging with as little memory as possible: who gives back what, that verdicts stay, and which plan is taken."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch

from kernelgauge.checks.memory import Call, least, phases
from kernelgauge.checks.memory_plan import LADDER, TIGHT, TIGHTEST, USUAL, MemoryPlan
from kernelgauge.config import Limits, load_protocol
from kernelgauge.errors import OutOfDeviceMemory, ReferenceTooLarge
from kernelgauge.evaluation.correctness.trials import prepare
from kernelgauge.evaluation.failures import Failure
from kernelgauge.evaluation.job import Job
from kernelgauge.evaluation.pair import KeptReference
from kernelgauge.evaluation.progress import Progress
from kernelgauge.evaluation.resources.memory_use import MemoryUse
from kernelgauge.evaluation.sides.kept_outputs import PassingOutputs, StayingOutputs
from kernelgauge.evaluation.sides.reference import Reference
from kernelgauge.evaluation.sides.shared_buffers import SharedBuffers
from kernelgauge.problems.loader import load_problem
from kernelgauge.schema import GB, Candidate, Outcome, Problem
from kernelgauge.session.session import Session
from kernelgauge.wire.regions import lay_out
from kernelgauge.wire.shared_memory import create

pytestmark = pytest.mark.processes

TEXT = """
import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.scale = nn.Parameter(torch.randn(width))

    def forward(self, x, times):
        return torch.relu(x * self.scale) * times, x.sum(dim=1), x.argmax(dim=1)


def get_inputs():
    return [torch.rand(64, 48), 2.0]


def get_init_inputs():
    return [48]
"""
SAME = TEXT.replace("class Model(", "class ModelNew(")
ANSWER = "torch.relu(x * self.scale) * times, x.sum(dim=1), x.argmax(dim=1)"
CANDIDATES = {
    "right": SAME,
    "sums in another order": SAME.replace("x.sum(dim=1)", "x.flip(1).cumsum(1)[:, -1]"),
    "wrong": SAME.replace("* times", "* (times + 0.01)"),
    "wrong integers": SAME.replace("x.argmax", "x.argmin"),
    "half": SAME.replace("torch.relu(x *", "torch.relu(x.bfloat16().float() *"),
    "wrong shape": SAME.replace("x.sum(dim=1)", "x.sum()"),
    "works in place": SAME.replace("return torch.relu(x * self.scale)", "return x.mul_(self.scale).relu_()"),
    "an old answer": SAME.replace(
        f"return {ANSWER}",
        f"self.old = getattr(self, 'old', None) or ({ANSWER})\n        return tuple(t.clone() for t in self.old)",
    ),
    "one buffer for ever": SAME.replace(
        f"return {ANSWER}",
        f"answer = {ANSWER}\n        if not hasattr(self, 'kept'):\n            self.kept = answer\n"
        "        for mine, new in zip(self.kept, answer):\n            mine.copy_(new)\n        return self.kept",
    ),
    "its input": SAME.replace("torch.relu(x * self.scale) * times, x.sum", "x, x.sum"),
    "raises": SAME.replace("return torch", "raise ValueError('no')\n        return torch"),
}


@pytest.fixture(scope="module")
def scarce() -> Iterator[Session]:
    """A session that judges on a CPU as if memory were as scarce as it can be."""
    with Session(threads=1, device="cpu") as made:
        made.memory.plans = (TIGHTEST,)
        yield made


@pytest.mark.parametrize("name", list(CANDIDATES))
def test_every_candidate_is_judged_as_usual(session: Session, scarce: Session, name: str) -> None:
    problem = Problem(key="own", name="own", source=TEXT)
    records = [made.evaluate(problem, CANDIDATES[name], device="cpu", timed=False) for made in (session, scarce)]
    usual, tight = records
    assert (tight.outcome, tight.rule, len(tight.trials)) == (usual.outcome, usual.rule, len(usual.trials)), tight
    assert tight.trivial_answers == usual.trivial_answers
    assert TIGHTEST.note in tight.notes and TIGHTEST.note not in usual.notes
    if name in ("right", "sums in another order"):
        assert tight.outcome is Outcome.PASSED, tight.reason


def test_timed_calls_are_checked_too(scarce: Session, quick: str) -> None:
    problem = Problem(key="own", name="own", source=TEXT)
    record = scarce.evaluate(problem, SAME, device="cpu", protocol=quick)
    assert record.outcome is Outcome.PASSED, record.reason
    later = SAME.replace(
        f"return {ANSWER}",
        f"self.calls = getattr(self, 'calls', 0) + 1\n        answer = {ANSWER}\n"
        "        if self.calls > 6:\n            x.mul_(2)\n        return answer",
    )
    record = scarce.evaluate(problem, later, device="cpu", protocol=quick)
    assert (record.outcome, record.rule) == (Outcome.REJECTED, "input_mutated"), record.reason


@pytest.fixture
def reference(scarce: Session) -> Iterator[Reference]:
    problem = Problem(key="own", name="own", source=TEXT)
    with Reference(scarce._zygote, problem, load_protocol("strict"), "cpu", plan=TIGHTEST) as made:
        yield made


def test_the_reference_answers_again_after_it_has_given_back_its_inputs(reference: Reference) -> None:
    lent = reference.side.process.usage.lent_bytes
    for variant in ("own", "own", "signed", "normal"):
        facts = prepare(reference, variant)
        assert reference.clearing.cold and reference.clearing.changed_inputs is False
        assert all(own.rms < 1e-6 for own in facts.eager)
        answer = [tensor.clone() for tensor in facts.answer]
        assert all(torch.equal(mine, again) for mine, again in zip(answer, reference.answer(), strict=True))
    assert reference.side.process.usage.lent_bytes == lent


def test_who_has_changed_its_inputs_is_known_after_they_were_given_back(scarce: Session) -> None:
    writes = TEXT.replace("return torch.relu(x * self.scale)", "return x.mul_(self.scale).relu_()")
    problem = Problem(key="own", name="own", source=writes)
    candidate = writes.replace("class Model(", "class ModelNew(")
    record = scarce.evaluate(problem, candidate, device="cpu", timed=False)
    assert record.rule != "input_mutated", "the reference does it too"


def test_whether_inputs_were_changed_is_seen_before_they_are_given_back(reference: Reference) -> None:
    reference.draw("own")
    reference.answer()
    for _ in range(2):  # the second time they are there again, and nobody has filled them
        reference.truth()
        assert reference.clearing.changed_inputs is False


def test_without_room_for_what_was_given_back_nobody_looks_at_it(
    reference: Reference, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, failures = reference.side.attach_inputs, [OutOfDeviceMemory("no room")]

    def attach(size: int) -> None:
        if failures:
            raise failures.pop()
        real(size)

    monkeypatch.setattr(reference.side, "attach_inputs", attach)
    with pytest.raises(ReferenceTooLarge, match="no room"):
        reference.truth()
    assert reference.side.buffers.inputs is not None, "it is there again"
    failures += [OutOfDeviceMemory("no room")] * 2

    class Beside:
        buffers = SharedBuffers("cpu", trusted=False, plan=TIGHTEST)

        def trim_between_calls(self) -> None:
            pass

    reference.clearing.judge(Beside())  # type: ignore[arg-type]
    with pytest.raises(Failure, match="beside this candidate, the memory does not suffice") as blamed:
        reference.truth()
    assert blamed.value.outcome is Outcome.OUT_OF_MEMORY


@pytest.mark.parametrize("piece", [512, 4096, 1 << 20])
def test_outputs_are_copied_in_pieces_and_put_aside(piece: int) -> None:
    expected = lay_out([((70, 30), "float32"), ((), "int64"), ((0, 3), "float32"), ((5,), "int16")])
    region = create(8 * 4096, "cpu")
    staying, passing = (kind(region, expected, piece) for kind in (StayingOutputs, PassingOutputs))
    region.bytes.random_(0, 256)
    due = [tensor.clone() for tensor in region.tensors(expected)]
    staying.take()
    passing.take()
    region.bytes.zero_()
    assert _same(staying.tensors, due) and not _same(passing.tensors, due), "one stays, one is what the region holds"
    for keep in (True, False):
        staying.put_aside(keep)
        staying.put_aside(keep=False)  # once is enough
        staying.put_back()
        staying.put_back()
        assert not keep or _same(staying.tensors, due)
    region.bytes.random_(0, 256)
    staying.take()
    assert _same(staying.tensors, region.tensors(expected))


def _same(some: list[torch.Tensor], others: list[torch.Tensor]) -> bool:
    return all(
        torch.equal(one.contiguous().view(-1).view(torch.uint8), other.contiguous().view(-1).view(torch.uint8))
        for one, other in zip(some, others, strict=True)
    )


def test_the_floor_is_that_of_the_phase_that_takes_most() -> None:
    contexts = 3 * 400 * 2**20
    call = Call(GB, GB, 0, 2 * GB, 2 * GB, 0, GB // 4)
    floors = {(plan.name, floor.phase): floor.whole for plan in LADDER[1:] for floor in phases(call, True, plan)}
    assert floors == {
        ("tight", "drawing"): contexts + (1 + 4 + 2 + 1 + 1 + 2) * GB,
        ("tight", "answering"): contexts + (1 + 2 + 1 + 4 + 2) * GB,
        ("tightest", "drawing"): contexts + (1 + 4 + 2 + 1 + 1) * GB,
        ("tightest", "answering"): contexts + (1 + 2 + 1 + 4) * GB,
    }
    assert least(call, True, TIGHTEST).whole == floors["tightest", "drawing"]
    assert [floor.phase for floor in phases(call, False, TIGHTEST)] == ["drawing"]
    assert least(call, False, TIGHT).whole == least(call, False, TIGHTEST).whole < least(call, False, USUAL).whole


@pytest.mark.parametrize(
    ("key", "plans"),
    [("1/19", (USUAL, TIGHT)), ("1/38", (USUAL, TIGHT, TIGHTEST)), ("1/45", (USUAL, TIGHT)), ("1/87", LADDER)],
)
def test_the_largest_problems_fit_80_gb(key: str, plans: tuple[MemoryPlan, ...]) -> None:
    """As a card of that name has them; every plan but the last is too large, by its floor or nearly so."""
    with Session(threads=1, limits=Limits(gpu_memory_gb=79.1)) as made:
        asked = (load_problem(key), load_protocol("strict"), "cuda", made.environment)
        made.memory.check(*asked)
        assert made.memory.plan(*asked) is plans[-1]
        needed = made.memory.needed(*asked[:2], made.environment)
        assert needed is not None and needed < 74 * GB
        for plan in plans[:-1]:
            assert not made.memory.tighten(*asked, plan) or made.memory.plan(*asked) is plans[-1]


def test_a_plan_tried_in_vain_is_not_tried_again(scarce: Session) -> None:
    problem, protocol = Problem(key="own", name="own", source=TEXT), load_protocol("strict")
    with Session(threads=1, limits=Limits(gpu_memory_gb=24)) as made:
        asked = (problem, protocol, "cuda", made.environment)
        for plan, following in zip(LADDER, [*LADDER[1:], None], strict=True):
            assert made.memory.plan(*asked) is plan
            assert made.memory.tighten(*asked, plan) is (following is not None)
        assert made.memory.plan(*asked) is TIGHTEST
        assert made.memory.plan(problem, protocol, "cpu", made.environment) is USUAL
        assert made.memory.plan(problem, load_protocol("v0.1"), "cuda", made.environment) is USUAL


def ran_out() -> Failure:
    return Failure(Outcome.OUT_OF_MEMORY, "beside this candidate, the memory does not suffice for the reference")


class _Tried:
    """Stands for every step of a supervisor's evaluation: runs out of memory under all plans but these."""

    def __init__(self, *enough: MemoryPlan, problem_too_large: MemoryPlan | None = None):
        self.enough, self.problem_too_large = enough, problem_too_large
        self.plans: list[MemoryPlan] = []

    def __call__(self, job: Job, progress: Progress, timed: bool, kept: KeptReference) -> None:
        self.plans.append(job.plan)
        progress.account.notes = [*progress.account.notes, job.plan.note]
        if job.plan == self.problem_too_large:
            raise ReferenceTooLarge("no room for the right outputs in host memory either")
        progress.failure = None if job.plan in self.enough else ran_out()


def _blamed(session: Session, monkeypatch: pytest.MonkeyPatch, tried: _Tried, plan: MemoryPlan) -> Progress:
    """What becomes of a candidate that ran out of memory under a plan which has room for a copy of the reference."""
    problem = load_problem("1/63")
    candidate = Candidate(problem=problem.key, source=problem.source, backend="torch")
    job = Job(problem, candidate, load_protocol("strict"), "cuda:0", session.environment, plan=plan)
    progress = Progress(failure=ran_out(), plan=plan)
    progress.account.notes = ["another note", plan.note]
    progress.account.memory_use = MemoryUse("cuda:0", before=0)
    supervisor = session.supervisor
    monkeypatch.setattr(supervisor, "_finish", tried)
    monkeypatch.setattr(supervisor, "_has_room_for_a_copy", lambda job, timed: True)
    monkeypatch.setattr(session.memory, "_room", {})  # what is found here is no fact for other tests
    supervisor._blame(job, progress, timed=False)
    return progress


def test_a_candidate_that_takes_more_than_a_copy_gets_what_right_outputs_would_take(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried = _Tried(TIGHTEST)
    progress = _blamed(session, monkeypatch, tried, TIGHT)
    assert progress.failure is None and tried.plans == [TIGHT, TIGHTEST]
    assert progress.plan is TIGHTEST
    assert progress.account.notes == ["another note", TIGHTEST.note]
    assert session.memory.plan(load_problem("1/63"), load_protocol("strict"), "cuda", session.environment) is USUAL


@pytest.mark.parametrize(
    ("plan", "plans"),
    [(USUAL, [USUAL]), (TIGHT, [TIGHT, TIGHTEST]), (TIGHTEST, [TIGHTEST])],
    ids=lambda each: each.name if isinstance(each, MemoryPlan) else "",
)
def test_who_takes_all_memory_is_blamed(
    session: Session, monkeypatch: pytest.MonkeyPatch, plan: MemoryPlan, plans: list[MemoryPlan]
) -> None:
    """And cannot come to tight plans from the usual one, which see less of what it keeps."""
    tried = _Tried()
    progress = _blamed(session, monkeypatch, tried, plan)
    assert tried.plans == plans
    assert progress.failure is not None and progress.failure.outcome is Outcome.OUT_OF_MEMORY
    assert progress.failure.reason.endswith("in use before it began")
    assert progress.failure.reason.count("a copy of the reference has room enough") == 1


def test_no_candidate_makes_a_problem_too_large(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    """The host has no memory for right outputs: what there was room for before still counts."""
    progress = _blamed(session, monkeypatch, _Tried(problem_too_large=TIGHTEST), TIGHT)
    assert progress.failure is not None and progress.failure.outcome is Outcome.OUT_OF_MEMORY
    assert "a copy of the reference has room enough" in progress.failure.reason


def test_a_plan_that_leaves_no_more_is_not_tried(session: Session) -> None:
    asked = (load_problem("1/63"), load_protocol("v0.1"), session.environment)
    assert session.memory.sparing(*asked, TIGHT) is None, "without an oracle there are no right outputs in float64"
    assert session.memory.sparing(asked[0], load_protocol("strict"), asked[2], TIGHT) is TIGHTEST
