"""A call of ten that takes ten times as long is paid for; accidents of the machine are not the candidate's."""

from __future__ import annotations

import random

import pytest

from kernelgauge.config import load_protocol
from kernelgauge.evaluation.measurement.samples import Sample, Samples
from kernelgauge.timing.slow_calls import slow_calls

RULES = load_protocol("strict").timing_on("cuda")
Times = list[float]


def calls(count: int, ms: float, slow_every: int = 0, times: float = 10.0, seed: int = 0) -> Times:
    """Milliseconds of calls that scatter by a percent; every so manyth takes so many times as long."""
    draw = random.Random(seed)
    return [ms * draw.gauss(1, 0.01) * (times if slow_every and at % slow_every == 0 else 1) for at in range(count)]


def test_a_slow_call_in_ten_counts() -> None:
    found = slow_calls(calls(100, 2.0), calls(100, 1.0, slow_every=10, seed=1), [100], 2.0, RULES)
    assert found.count and not found.open
    assert found.means.estimate == pytest.approx(2 / 1.9, rel=0.02)


def test_slow_calls_of_both_sides_are_the_machines() -> None:
    one, other = (calls(100, 1.0, slow_every=10, seed=seed) for seed in (0, 1))
    found = slow_calls(one, other, [100], 1.0, RULES)
    assert not found.count and not found.open


def test_what_slows_both_sides_by_as_much_is_not_held_against_the_faster_one() -> None:
    """A fast kernel on a busy host: late by 3 ms in a third of the calls, like its reference."""
    one, other = (
        [ms + (3.0 if at % 3 == 0 else 0.0) for at, ms in enumerate(times)]
        for times in (calls(120, 2.7), calls(120, 0.8, seed=1))
    )
    found = slow_calls(one, other, [40, 40, 40], 2.7 / 0.8, RULES)
    assert found.means.high < 2.7 / 0.8 * 0.8 and not found.count and not found.open
    slower = [ms + (3.0 if at % 3 == 1 else 0.0) for at, ms in enumerate(other)]
    assert slow_calls(one, slower, [40, 40, 40], 2.7 / 0.8, RULES).count


def test_one_slow_call_among_few_needs_more_of_them() -> None:
    found = slow_calls(calls(12, 2.0), calls(12, 1.0, slow_every=12, seed=1), [12], 2.0, RULES)
    assert found.open and not found.count


def test_one_disturbed_pair_of_processes_of_three_is_an_accident() -> None:
    candidate = calls(60, 1.0, seed=1) + calls(60, 1.0, slow_every=4, times=3, seed=2) + calls(60, 1.0, seed=3)
    found = slow_calls(calls(180, 1.0), candidate, [60, 60, 60], 1.0, RULES)
    assert not found.count


def test_who_is_slow_in_the_tenth_call_is_not_called_faster() -> None:
    samples = Samples(claims=True)
    for own, other in zip(calls(100, 2.0), calls(100, 1.0, slow_every=10, times=14, seed=1), strict=True):
        for side, ms in ((samples.reference, own), (samples.candidate, other)):
            side.append(Sample(round(ms * 1e6) + 300_000, 1000, round(ms * 1e6)))
    samples.ends.append(100)
    ratio = samples.ratio(RULES, final=True)
    assert ratio.estimate < 1 and ratio.low <= ratio.estimate <= ratio.high
    assert samples.ratio(RULES, final=False).estimate == pytest.approx(2, rel=0.02)


def delayed(ms: float, share: float, hidden: float = 0.0, seed: int = 0) -> Samples:
    """Three rounds of a kernel whose messages are late in a share of the calls of both sides; some of the candidate's
    hide nine times as much work as they claim."""
    draw, samples = random.Random(seed), Samples(claims=True)
    for _ in range(3):
        for side in [samples.reference, samples.candidate] * 95:
            gap = 450_000 * draw.gauss(1, 0.05)
            gap += draw.expovariate(1 / 250_000) + 50_000 if draw.random() < share else 0
            claim = ms * 1e6 * draw.gauss(1, 0.01)
            more = 9 * claim if side is samples.candidate and draw.random() < hidden else 0
            side.append(Sample(round(claim + gap + more), 1000, round(claim)))
        samples.ends.append(len(samples.reference))
    return samples


def test_late_messages_do_not_make_a_short_copy_slower() -> None:
    """What is left of one side's delays beside the other's looks surer than it is."""
    looks_slow, counted = [], []
    for seed in range(40):
        samples = delayed(0.062, 0.05, seed=seed)
        looks_slow.append(slow_calls(*samples.milliseconds(), samples.rounds(), 1.0, RULES).count)
        counted.append(samples.slow_calls(RULES).count)
    assert sum(looks_slow) >= 4 and sum(counted) <= 1


@pytest.mark.parametrize("ms", [0.062, 0.3, 1.0])
def test_work_hidden_in_the_tenth_call_counts_beside_late_messages(ms: float) -> None:
    assert all(delayed(ms, 0.03, hidden=0.1, seed=seed).slow_calls(RULES).count for seed in range(10))
