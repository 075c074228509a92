"""Many calls in one bracket: each computes on inputs of its own and is compared; claims short of that are charged."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import pytest
import torch

from kernelgauge.checks.numerics import Distance
from kernelgauge.config import load_protocol
from kernelgauge.evaluation.correctness.timed_outputs import Inputs, agree
from kernelgauge.evaluation.failures import Failure
from kernelgauge.evaluation.measurement.batch import MOST_CALLS, Batch, Uneven, Verified, affordable
from kernelgauge.evaluation.measurement.deck import Deck
from kernelgauge.evaluation.measurement.measure import Measurement
from kernelgauge.evaluation.measurement.samples import Sample, Samples
from kernelgauge.evaluation.pair import KeptReference, Sides
from kernelgauge.evaluation.progress import Account
from kernelgauge.evaluation.sides.prefork import PreforkPool
from kernelgauge.schema import Candidate, Outcome, Problem
from kernelgauge.session.session import Session

pytestmark = pytest.mark.processes

RULES = load_protocol("strict").timing
SLEEP = 0.02
CALLS = 4
VARIANTS = ("scaled", "signed")
PROBLEM = """
import torch


class Model(torch.nn.Module):
    def forward(self, x, scale):
        noise = torch.rand(x.shape[1])
        return torch.relu(x) * scale + noise, x.sum()


def get_inputs():
    return [torch.rand(64, 32), 3.0]


def get_init_inputs():
    return []
"""
SAME = PROBLEM.replace("class Model(", "class ModelNew(")
SLEEPS = SAME.replace("noise =", f"__import__('time').sleep({SLEEP})\n        noise =")
# Where inputs lie elsewhere than in the first call, the answer is an old one.
SKIPS = (
    SAME.replace(
        "        noise =",
        "        if getattr(self, 'place', x.data_ptr()) != x.data_ptr() and hasattr(self, 'old'):\n"
        "            return self.old\n"
        "        self.place = x.data_ptr()\n        noise =",
    )
    .replace("return torch.relu", "self.old = torch.relu")
    .replace("x.sum()\n", "x.sum()\n        return self.old\n")
)
OTHER_SHAPE = SKIPS.replace(
    "return self.old\n        self.place", "return self.old[0][:1], self.old[1]\n        self.place"
)
# There it works in place, too.
IN_PLACE = SAME.replace(
    "        noise =",
    "        elsewhere = getattr(self, 'place', x.data_ptr()) != x.data_ptr()\n"
    "        self.place = getattr(self, 'place', x.data_ptr())\n        noise =",
).replace("return torch.relu(x) * scale + noise, x.sum()", "total = x.sum()\n        return WORK + noise, total")
IN_PLACE = IN_PLACE.replace("WORK", "(x.sub_(0.5).relu_() if elsewhere else torch.relu(x - 0.5)) * scale")
SHIFTED = PROBLEM.replace("relu(x)", "relu(x - 0.5)")
WRITES_TOO = SHIFTED.replace("        noise =", "        total = x.sum()\n        noise =").replace(
    "torch.relu(x - 0.5) * scale + noise, x.sum()", "x.sub_(0.5).relu_() * scale + noise, total"
)


@contextlib.contextmanager
def batch(session: Session, source: str, text: str = PROBLEM) -> Iterator[Batch]:
    problem = Problem(key="own", name="own", source=text)
    candidate = Candidate(problem="own", source=source, backend="torch")
    job = session.job(problem, candidate, load_protocol("strict"), "cpu")
    zygote = session.supervisor.zygote
    sides = Sides(zygote, PreforkPool(zygote))
    account = Account()
    with (
        contextlib.closing(KeptReference(account)) as kept,
        sides.opened(job, None, "seed", account, kept) as (reference, side),
    ):
        reference.draw("own")
        with reference.blamed(reference.side):
            reference.answer()
        side.stage(reference.arguments, reference.master, reference.call_seed, stop=True)
        side.call()
        side.process.freeze()
        yield Batch(reference, side, affordable(reference, CALLS), Deck(VARIANTS).deal)


def verified(made: Batch) -> Verified:
    def check(variant: str, outputs: list[torch.Tensor], due: list[torch.Tensor], where: str) -> None:
        agree(made.reference, Inputs(variant, [Distance(1e-7, 1e-6)] * 2), outputs, due, where)

    return check


def test_each_call_computes_on_inputs_and_seed_of_its_own(session: Session) -> None:
    seen: list[list[torch.Tensor]] = []
    kinds: list[str] = []

    def note(variant: str, outputs: list[torch.Tensor], due: list[torch.Tensor], where: str) -> None:
        assert all(torch.equal(got, own) for got, own in zip(outputs, due, strict=True))
        seen.append([output.clone() for output in outputs])
        kinds.append(variant)

    with batch(session, SLEEPS) as made:
        own, taken = made.take(note)
        assert made.calls == len(seen) == CALLS
        assert taken >= CALLS * SLEEP * 1e9 > own, "each of its calls slept"
        assert made.idle_ns > 0
        made.take(note)
    assert len({float(total) for _, total in seen}) == 2 * CALLS, "no inputs come twice"
    assert set(kinds) == {"own", *VARIANTS}, "and all kinds of inputs come"


@pytest.mark.parametrize(("source", "due"), [(SKIPS, Outcome.WRONG_VALUE), (OTHER_SHAPE, Outcome.WRONG_SHAPE)])
def test_what_is_wrong_only_in_a_row_is_refused(session: Session, source: str, due: Outcome) -> None:
    with batch(session, source) as made, pytest.raises(Failure) as refused:
        made.take(verified(made))
    assert refused.value.outcome is due


def test_inputs_changed_only_in_a_row_are_refused(session: Session) -> None:
    with batch(session, IN_PLACE, SHIFTED) as made, pytest.raises(Failure) as refused:
        made.take(verified(made))
    assert (refused.value.outcome, refused.value.rule) == (Outcome.REJECTED, "input_mutated")


def test_where_the_reference_changes_its_inputs_a_candidate_may(session: Session) -> None:
    with batch(session, IN_PLACE, WRITES_TOO) as made:
        made.take(verified(made))


def test_a_problem_whose_numbers_change_from_draw_to_draw_has_no_row(session: Session) -> None:
    changing = PROBLEM.replace("3.0]", "float(torch.rand(()))]")
    with pytest.raises(Uneven), batch(session, changing.replace("Model(", "ModelNew(", 1), text=changing):
        pass


def test_an_honest_row_agrees(session: Session) -> None:
    with batch(session, SAME) as made:
        made.take(verified(made))


def test_a_row_has_no_more_calls_than_fit_a_message(session: Session) -> None:
    with batch(session, SAME) as made:
        assert affordable(made.reference, 1000) == MOST_CALLS


def claimed(candidate_us: int, gap_us: int = 400) -> Samples:
    """A reference of 500 µs, and a candidate that claims so much and took 500 µs less than the parent can see."""
    gaps = [gap_us - 20, gap_us, gap_us + 20] * 8
    reference = [Sample((500 + gap) * 1000, 0, 500_000) for gap in gaps]
    candidate = [Sample((candidate_us + gap) * 1000, 0, candidate_us * 1000) for gap in gaps]
    return Samples(claims=True, reference=reference, candidate=candidate, ends=[len(gaps)])


def test_a_claim_that_is_short_of_a_batch_is_made_up_for() -> None:
    forged = claimed(420)
    assert forged.milliseconds()[1] == pytest.approx([0.42] * 24), "a single message does not show that"
    forged.hold_against(8, 500_000, 500_000)
    assert forged.milliseconds()[1] == pytest.approx([0.5] * 24)
    assert forged.underreported_ns == pytest.approx(80_000)


@pytest.mark.parametrize("per_call_us", [100, 415, 450])
def test_an_honest_claim_is_left_as_it_is(per_call_us: int) -> None:
    """Calls in a row take less than one by itself, or a little more."""
    honest = claimed(420)
    honest.hold_against(8, per_call_us * 1000 * 500 / 420, per_call_us * 1000)
    assert honest.underreported_ns == 0 and honest.batch_calls == 8
    assert honest.milliseconds()[1] == pytest.approx([0.42] * 24)
    assert honest.ratio(RULES, final=True).low > 1


@pytest.mark.parametrize("claim_us", [380, 440, 480])
def test_a_win_that_no_row_confirms_is_none(claim_us: int) -> None:
    """Rows take less than single calls, so a claim may be short of the truth and not of them: 450 µs, of 500."""
    forged = claimed(claim_us)
    assert forged.ratio(RULES, final=True).low > 1
    forged.hold_against(8, 450_000, 450_000)
    ratio = forged.ratio(RULES, final=True)
    assert ratio.low <= 1 < ratio.estimate
    assert forged.batched_ratio() == pytest.approx(1)


def test_rows_of_several_rounds_share_the_word() -> None:
    samples = claimed(250)
    for other in (240_000, 260_000):
        samples.hold_against(8, 500_000, other)
    assert samples.batched_ratio() == pytest.approx(2, rel=0.01)


@pytest.mark.parametrize(
    ("claim_us", "row_us", "calls", "clock_uncertainty_us"),
    [(3062, 3246, 2, 111), (5169, 5399, 3, 165), (5565, 5803, 2, 245), (157, 202, 8, 286), (157, 202, 29, 286)],
    ids=["3/50", "2/47", "2/51", "1/88", "1/88 in a longer row"],
)
def test_honest_rows_that_were_charged_on_an_h200_no_longer_are(
    claim_us: int, row_us: int, calls: int, clock_uncertainty_us: int
) -> None:
    """Of what TorchInductor had written, in results/h200/runs.tar.xz."""
    honest = claimed(claim_us, gap_us=4 * clock_uncertainty_us)
    assert honest.clock_uncertainty_ns() == pytest.approx(1000 * clock_uncertainty_us, rel=0.2)
    assert honest.short_of(calls, row_us * 1000) == 0


class Rows:
    """Stands in for a `Batch`: batches of both sides as they are told."""

    calls, idle_ns, reference = 8, 400_000, None

    def __init__(self, rows: list[tuple[int, int]]) -> None:
        self.rows = [(9_000_000, 9_000_000), *((400_000 + 8000 * own, 400_000 + 8000 * other) for own, other in rows)]

    def take(self, verified: object) -> tuple[int, int]:
        return self.rows.pop(0)


@pytest.mark.parametrize(
    ("rows", "due", "left"),
    [
        ([(500, 250), (500, 250), (1, 1)], (500, 250), 1),  # two that agree are enough
        ([(900, 450), (450, 450), (450, 450), (450, 450)], (450, 450), 0),  # disturbed, it would confirm a forged win
        ([(500, 250), (500, 600), (500, 250)], (500, 250), 1),
    ],
    ids=["honest", "a disturbed row of the reference's", "a disturbed row of the candidate's"],
)
def test_one_row_confirms_nothing(rows: list[tuple[int, int]], due: tuple[int, int], left: int) -> None:
    measurement = Measurement(RULES, "cpu")
    measurement._samples = claimed(260)
    told = Rows(rows)
    shortest = measurement._shortest_batches(told)  # type: ignore[arg-type]
    assert shortest == (due[0] * 1000, due[1] * 1000)
    assert len(told.rows) == left
