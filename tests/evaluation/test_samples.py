"""Times from the parent's brackets and the workers' words: what a lie, and what the place in a pair, can do."""

from __future__ import annotations

import random
import statistics
from dataclasses import replace

import pytest

from kernelgauge.config import load_protocol
from kernelgauge.errors import UsageError
from kernelgauge.evaluation.measurement.samples import Sample, Samples
from kernelgauge.hardware.cores import keeping_off, launch_core
from kernelgauge.timing.stopping import needs_recheck
from kernelgauge.timing.timers import HostTime, timer_named, timer_names

GPU_RULES = load_protocol("strict").timing_on("cuda")
MESSAGE_NS = 400_000


def taken(claim_ns: float, really_ns: float | None = None, seed: int = 0, count: int = 60) -> list[Sample]:
    """Calls of which the worker claims one time and that take another; messages take 0.4 ms, give or take 10 us."""
    draw = random.Random(seed)
    really = claim_ns if really_ns is None else really_ns
    return [
        Sample(
            computed_ns=round(really * draw.gauss(1, 0.003) + MESSAGE_NS + draw.gauss(0, 10_000)),
            copy_ns=round(50_000 + draw.gauss(0, 1000)),
            forward_ns=round(claim_ns * draw.gauss(1, 0.003)),
        )
        for _ in range(count)
    ]


def pairs(reference: list[Sample], candidate: list[Sample]) -> Samples:
    return Samples(claims=True, reference=reference, candidate=candidate, ends=[len(reference)])


def test_an_honest_claim_is_taken_as_it_is() -> None:
    samples = pairs(taken(2e6), taken(1e6, seed=1))
    assert set(samples.unreported_ns(samples.candidate)) == {0}
    ratio = samples.ratio(GPU_RULES, final=True)
    assert ratio.estimate == pytest.approx(2, rel=0.01)
    assert ratio.low > 1.9
    assert ratio.high - ratio.low >= 2 * 0.02 * ratio.estimate - 1e-9, "no interval claims less than the resolution"


def test_a_time_that_only_the_parent_saw_is_added_to_every_call() -> None:
    samples = pairs(taken(1e6), taken(10_000, really_ns=1e6, seed=1))
    assert statistics.fmean(samples.unreported_ns(samples.candidate)) == pytest.approx(0.99e6, rel=0.02)
    assert samples.ratio(GPU_RULES, final=True).estimate == pytest.approx(1, rel=0.02)


def test_what_goes_unnoticed_is_said_and_is_less_than_a_quarter_of_a_message() -> None:
    hidden_ns = 60_000
    samples = pairs(taken(1e6), taken(1e6 - hidden_ns, really_ns=1e6, seed=1))
    assert set(samples.unreported_ns(samples.candidate)) == {0}
    assert hidden_ns < samples.clock_uncertainty_ns() < 0.3 * MESSAGE_NS
    more = pairs(taken(1e6), taken(1e6 - 150_000, really_ns=1e6, seed=1))
    assert statistics.fmean(more.unreported_ns(more.candidate)) == pytest.approx(150_000, rel=0.1)


@pytest.mark.parametrize("share", [0.1, 0.45, 0.5, 0.9])
def test_a_lie_in_some_of_the_calls_is_charged_to_those(share: float) -> None:
    """Half the calls forged, and chosen so that no median moves: neither the ratio nor the allowance may follow."""
    draw = random.Random(3)
    candidate = [s if draw.random() > share else Sample(s.computed_ns, s.copy_ns, 200) for s in taken(2e6, seed=1)]
    samples = pairs(taken(2e6), candidate)
    assert samples.clock_uncertainty_ns() < 0.3 * MESSAGE_NS
    assert samples.ratio(GPU_RULES, final=True).estimate == pytest.approx(1, rel=0.02)


@pytest.mark.parametrize("seed", range(10))
def test_a_busy_host_that_delays_both_sides_favours_neither(seed: int) -> None:
    """A third of the messages come a quarter of a millisecond late, on both sides: seen on an H200 beside builds."""
    draw = random.Random(seed)

    def delayed(samples: list[Sample]) -> list[Sample]:
        late = [draw.random() < 0.35 for _ in samples]
        return [replace(s, computed_ns=s.computed_ns + 250_000 * d) for s, d in zip(samples, late, strict=True)]

    reference = delayed(taken(2.7e6, seed=seed, count=240))
    honest = pairs(reference, delayed(taken(2.7e6, seed=seed + 100, count=240)))
    assert honest.ratio(GPU_RULES, final=True).estimate == pytest.approx(1, abs=0.01)
    liar = pairs(reference, delayed(taken(1.7e6, really_ns=2.7e6, seed=seed + 100, count=240)))
    assert liar.ratio(GPU_RULES, final=True).estimate == pytest.approx(1, abs=0.02)


def test_pairs_taken_since_are_looked_at_as_if_there_were_no_others() -> None:
    """In blocks of two on a GPU, and without what was dropped after them."""
    before, since = taken(3e6, seed=7, count=8), taken(2e6, seed=8, count=16)
    other_before, other_since = taken(1e6, seed=9, count=8), taken(1e6, seed=10, count=16)
    both = Samples(claims=True, reference=before + since, candidate=other_before + other_since, ends=[8, 24])
    alone = Samples(claims=True, reference=since, candidate=other_since, ends=[16])
    late, own = both.ratio(GPU_RULES, final=False, since=8), alone.ratio(GPU_RULES, final=False)
    assert late.estimate == pytest.approx(own.estimate, rel=0.01) and late.estimate == pytest.approx(2, rel=0.02)
    assert both.ratio(GPU_RULES, final=False).estimate > 2.1
    both.drop_block()
    assert [len(each) for each in both.blocks(8)] == [7, 7]


def test_a_machine_that_delays_one_side_alone_is_asked_again() -> None:
    """Seen on an H200 in the first evaluation after its start: a third of the candidate's calls 3 ms late."""
    draw = random.Random(5)
    delayed = [
        replace(s, computed_ns=s.computed_ns + 3_300_000) if draw.random() < 0.35 else s
        for s in taken(10.8e6, seed=1)
    ]
    first = pairs(taken(10.8e6), delayed)
    ratio = first.ratio(GPU_RULES, final=True)
    assert ratio.high < 0.98, "one round would call it slower"
    assert first.charged_share() == pytest.approx(0.1, abs=0.05) and needs_recheck(
        ratio, GPU_RULES, first.charged_share()
    )
    quiet = [taken(10.8e6, seed=seed, count=12) for seed in range(2, 6)]
    reference, candidate = [*first.reference, *quiet[0], *quiet[1]], [*delayed, *quiet[2], *quiet[3]]
    again = Samples(claims=True, reference=reference, candidate=candidate, ends=[60, 72, 84]).ratio(GPU_RULES, True)
    assert again.low < 1 < again.high
    assert pairs(taken(10.8e6), taken(10.8e6, seed=1)).charged_share() == pytest.approx(0, abs=1e-3)


def test_too_few_pairs_for_blocks_show_their_own_scatter() -> None:
    samples = pairs([*taken(1e6, count=1), *taken(3e6, count=1)], taken(1e6, count=2))
    ratio = samples.ratio(GPU_RULES, final=True)
    assert ratio.low < 1.1 and ratio.high > 2.9


def test_work_during_the_copy_is_added_to_the_call_it_belongs_to() -> None:
    late = [Sample(s.computed_ns, s.copy_ns + 700_000, s.forward_ns) for s in taken(300_000, seed=1)]
    samples = pairs(taken(1e6), late)
    assert samples.ratio(GPU_RULES, final=True).estimate == pytest.approx(1, rel=0.02)


def test_work_while_a_call_is_staged_is_added_to_that_call() -> None:
    def staged(samples: list[Sample], more_ns: float, seed: int) -> list[Sample]:
        draw = random.Random(seed)
        return [replace(sample, staged_ns=round(draw.gauss(300_000, 5_000) + more_ns)) for sample in samples]

    reference = staged(taken(5e6), 0, seed=2)
    plan = load_protocol("strict").timing_on("cpu")
    honest = Samples(reference=reference, candidate=staged(taken(5e6, seed=1), 0, seed=3), ends=[len(reference)])
    assert honest.ratio(plan, final=True).estimate == pytest.approx(1, rel=0.02)
    early = Samples(reference=reference, candidate=staged(taken(1e6, seed=1), 4e6, seed=3), ends=[len(reference)])
    assert statistics.fmean(early.post_call_ns(early.candidate)) == pytest.approx(4e6, rel=0.02)
    assert early.ratio(plan, final=True).estimate == pytest.approx(1, rel=0.02)


def test_work_in_every_staging_is_charged_on_a_busy_host_too() -> None:
    """Single stagings scatter by more than the work takes there, their median does not."""

    def staged(samples: list[Sample], more_ns: float, seed: int) -> list[Sample]:
        draw = random.Random(seed)
        return [replace(sample, staged_ns=round(draw.uniform(500_000, 12_000_000) + more_ns)) for sample in samples]

    plan = load_protocol("strict").timing_on("cpu")
    reference = staged(taken(5e6), 0, seed=2)
    honest = Samples(reference=reference, candidate=staged(taken(5e6, seed=1), 0, seed=3), ends=[len(reference)])
    ratio = honest.ratio(plan, final=True)
    assert ratio.estimate == pytest.approx(1, rel=0.1) and ratio.low < 0.9, "what cannot be told widens the interval"
    early = Samples(reference=reference, candidate=staged(taken(1e6, seed=1), 4e6, seed=3), ends=[len(reference)])
    ratio = early.ratio(plan, final=True)
    assert ratio.low < 1 and ratio.estimate < 2, "5 times faster, were nothing charged"
    sure = 0
    for seed in range(20):
        reference = staged(taken(5e6, seed=seed), 0, seed=seed + 100)
        early = Samples(
            reference=reference,
            candidate=staged(taken(1e6, seed=seed + 1), 4e6, seed=seed + 200),
            ends=[len(reference)],
        )
        sure += early.ratio(plan, final=True).low > 1.05
    assert sure <= 2


def test_a_device_left_at_work_is_noticed_and_charged() -> None:
    def drained(samples: list[Sample], more_ns: float, seed: int) -> list[Sample]:
        draw = random.Random(seed)
        return [replace(sample, drain_ns=round(draw.gauss(60_000, 2_000) + more_ns)) for sample in samples]

    reference = drained(taken(1e6), 0, seed=2)
    honest = pairs(reference, drained(taken(1e6, seed=1), 0, seed=3))
    assert honest.unfinished() == 0
    assert honest.ratio(GPU_RULES, final=True).estimate == pytest.approx(1, rel=0.02)
    queued = pairs(reference, drained(taken(300_000, seed=1), 700_000, seed=3))
    assert queued.unfinished() == 1
    assert queued.ratio(GPU_RULES, final=True).estimate == pytest.approx(1, rel=0.02)


@pytest.mark.parametrize(
    ("call_ms", "later_us"), [(1.05, 14), (5.17, 28), (20.6, 80), (20.8, 89), (51.4, 124), (102.7, 121), (50.0, 113)]
)
def test_a_device_that_answers_late_after_a_long_kernel_hides_nothing(call_ms: float, later_us: float) -> None:
    """Medians of honest kernels on an H100: results/h100/device_answers.json."""

    def answered(samples: list[Sample], more_ns: float, seed: int) -> list[Sample]:
        draw = random.Random(seed)
        return [replace(sample, drain_ns=round(draw.gauss(200_000, 9_000) + more_ns)) for sample in samples]

    slow = pairs(answered(taken(60_000), 0, seed=2), answered(taken(call_ms * 1e6, seed=1), later_us * 1000, seed=3))
    assert slow.unfinished() == 0
    assert slow.charged_share() < 0.02, "and is charged no more than the device can tell apart"


@pytest.mark.parametrize("seed", range(20))
def test_the_place_in_a_pair_cancels_within_a_block(seed: int) -> None:
    """Whoever comes first takes 12 % longer: as much as was seen, and more than what is to be told apart."""
    draw = random.Random(seed)
    samples = Samples(claims=True)
    for _ in range(12):
        first = draw.random() < 0.5
        for reference_first in (first, not first):
            times = (3.4e6, 3.05e6) if reference_first else (3.05e6, 3.4e6)
            for side, time in zip((samples.reference, samples.candidate), times, strict=True):
                side.append(taken(time, seed=draw.randrange(1 << 30), count=1)[0])
    samples.ends = [24]
    assert samples.ratio(GPU_RULES, final=False).estimate == pytest.approx(1, abs=0.004)
    assert max(samples.blocks()[0]) < 3.4 * 0.97


def test_a_dropped_pair_takes_its_block_with_it() -> None:
    samples = pairs(taken(1e6, count=4), taken(1e6, count=4))
    samples.drop_block()
    assert len(samples.reference) == len(samples.candidate) == 2
    samples.reference += taken(1e6, count=1)
    samples.candidate += taken(1e6, count=1)
    samples.drop_block()
    assert len(samples.reference) == len(samples.candidate) == 2


def test_rules_of_a_gpu_are_those_of_a_cpu_but_for_what_is_said() -> None:
    protocol = load_protocol("strict")
    cpu, gpu = protocol.timing_on("cpu"), protocol.timing_on("cuda")
    assert cpu == protocol.timing
    assert (cpu.timer, gpu.timer) == ("host_time", "cuda_event")
    assert gpu.confidence == cpu.confidence and gpu.fresh_inputs


def test_another_arithmetic_is_another_protocol_with_tolerances_of_its_own() -> None:
    protocol = load_protocol("strict")
    half = protocol.under(math="fp16")
    assert half.tolerance.math == "fp16" and half.digest != protocol.digest
    assert half.judgement_digest != protocol.judgement_digest
    assert protocol.under(timer="cuda_graph").judgement_digest == protocol.judgement_digest
    assert half.tolerance.multiples[0] < protocol.tolerance.multiples[0]
    with pytest.raises(UsageError, match="narrow_multiple"):
        tolerance = protocol.tolerance.model_copy(update={"narrow_multiple": 0.0})
        protocol.model_copy(update={"tolerance": tolerance}).under(math="bf16")


def test_timers_are_found_by_name_and_say_where_they_work() -> None:
    assert isinstance(timer_named("host_time"), HostTime)
    assert [name for name in timer_names() if "cpu" in timer_named(name).devices] == ["host_time"]
    with pytest.raises(UsageError, match="did you mean cuda_event"):
        timer_named("cuda_events")


def test_a_host_timer_measures_calls_that_take_time() -> None:
    calls: list[int] = []
    samples = HostTime().samples(lambda: calls.append(sum(range(20_000))), warmups=2, count=5)
    assert len(calls) == 7
    assert len(samples) == 5 and all(0 < sample < 1e4 for sample in samples)


def test_the_core_that_launches_is_kept_free_and_given_back() -> None:
    import os

    before = os.sched_getaffinity(0)
    core = launch_core("cuda:0")
    assert core is None or core in before
    with keeping_off([min(before)]):
        assert len(before) == 1 or min(before) not in os.sched_getaffinity(0)
    assert os.sched_getaffinity(0) == before
