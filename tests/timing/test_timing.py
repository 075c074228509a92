"""Ratios, intervals and the stopping rule, on invented samples with known answers."""

from __future__ import annotations

import math

import numpy as np
import pytest

from kernelgauge.config import TimingPlan, load_protocol
from kernelgauge.timing.ratio import Ratio, median_deviation, of_means, of_rounds, paired, standard_error_of_median
from kernelgauge.timing.stopping import finished, needs_further_recheck, needs_recheck

STRICT = load_protocol("strict").timing
PUBLISHED = load_protocol("v0.1").timing


def test_ratio_of_constant_samples_is_exact() -> None:
    found = paired([4.0] * 20, [2.0] * 20, 0.95)
    assert (found.estimate, found.low, found.high) == pytest.approx((2.0, 2.0, 2.0))


def test_shared_drift_cancels_in_pairs() -> None:
    drift = np.linspace(1, 3, 40)
    found = paired(list(2 * drift), list(drift), 0.95)
    assert found.estimate == pytest.approx(2.0)
    assert found.half_width < 1e-9


def test_one_disturbed_sample_moves_the_estimate_by_less_than_the_scatter() -> None:
    draw = np.random.default_rng(1)
    reference = np.exp(draw.normal(0, 0.01, 30))
    candidate = np.exp(draw.normal(0, 0.01, 30))
    disturbed = candidate.copy()
    disturbed[7] *= 236
    calm, hit = paired(list(reference), list(candidate), 0.95), paired(list(reference), list(disturbed), 0.95)
    assert hit.estimate == pytest.approx(calm.estimate, rel=0.005)


def test_interval_of_pairs_holds_the_true_ratio_as_often_as_it_says() -> None:
    draw = np.random.default_rng(2)
    held = 0
    for _ in range(1000):
        reference = np.exp(draw.normal(math.log(1.1), 0.05, 20))
        candidate = np.exp(draw.normal(0, 0.05, 20))
        found = paired(list(reference), list(candidate), 0.95)
        held += found.low <= 1.1 <= found.high
    assert 920 <= held <= 980


def test_interval_over_rounds_holds_the_true_ratio_although_processes_differ() -> None:
    """Each pair of processes is off by its own few percent: the interval of pooled pairs misses it, this one not."""
    draw = np.random.default_rng(6)
    held = {"rounds": 0, "pairs": 0}
    for _ in range(500):
        offsets = np.repeat(draw.normal(0, 0.03, 5), 12)
        reference = np.exp(draw.normal(math.log(1.1), 0.02, 60) + offsets)
        candidate = np.exp(draw.normal(0, 0.02, 60))
        for name, found in (
            ("rounds", of_rounds(list(reference), list(candidate), [12] * 5, 0.95)),
            ("pairs", paired(list(reference), list(candidate), 0.95)),
        ):
            held[name] += found.low <= 1.1 <= found.high
    assert 455 <= held["rounds"] <= 495
    assert held["pairs"] < 350


def test_interval_of_means_holds_the_true_ratio_as_often_as_it_says() -> None:
    draw = np.random.default_rng(3)
    held = 0
    for _ in range(1000):
        found = of_means(list(draw.normal(2.2, 0.1, 50)), list(draw.normal(2.0, 0.1, 50)), 0.95)
        held += found.low <= 1.1 <= found.high
    assert 925 <= held <= 975


def test_widened_never_narrows() -> None:
    ratio = Ratio(2.0, 1.0, 3.0)
    assert ratio.widened(0.01) == ratio
    assert Ratio(2.0, 1.99, 2.01).widened(0.1) == Ratio(2.0, 1.8, 2.2)


def test_scatter_of_the_median() -> None:
    draw = np.random.default_rng(4)
    medians = [float(np.median(draw.normal(0, 1, 101))) for _ in range(2000)]
    assert standard_error_of_median(list(draw.normal(0, 1, 101))) == pytest.approx(np.std(medians), rel=0.35)
    assert median_deviation([1, 1, 1, 100]) == 0


NARROW, WIDE = Ratio(1.0, 0.995, 1.005), Ratio(1.0, 0.9, 1.1)


@pytest.mark.parametrize(
    ("plan", "samples", "own", "seconds", "ratio", "why"),
    [
        (STRICT, 25, 5, 0.1, NARROW, "precise"),
        (STRICT, 25, 5, 0.1, WIDE, None),
        (STRICT, 50, 4, 0.1, NARROW, None),
        (STRICT, 50, 4, STRICT.budget_seconds + 1, NARROW, None),
        (STRICT, STRICT.max_samples, 24, 0.1, WIDE, "budget"),
        (STRICT, 25, 5, STRICT.budget_seconds + 1, WIDE, "budget"),
        (STRICT, 2, 2, 2 * STRICT.budget_seconds + 1, None, "budget"),
        (STRICT, 1, 1, 1000.0, None, None),
        (PUBLISHED, 99, 99, 0.1, None, None),
        (PUBLISHED, 100, 100, 0.1, None, "fixed"),
    ],
)
def test_when_sampling_ends(
    plan: TimingPlan, samples: int, own: int, seconds: float, ratio: Ratio | None, why: str | None
) -> None:
    assert STRICT.min_samples == 25 and STRICT.processes == 5
    assert finished(plan, samples, seconds, ratio, own=own) == why


@pytest.mark.parametrize(
    ("ratio", "charged", "doubtful"),
    [
        pytest.param(Ratio(1.009, 0.99, 1.03), 0.0, False, id="a tie"),
        pytest.param(Ratio(1.012, 0.99, 1.03), 0.0, True, id="a tie that is hardly one"),
        pytest.param(Ratio(0.988, 0.97, 1.01), 0.0, True, id="hardly a tie, and slower"),
        pytest.param(Ratio(1.02, 1.01, 1.03), 0.0, True, id="a little faster"),
        pytest.param(Ratio(0.98, 0.97, 0.99), 0.0, True, id="a little slower"),
        pytest.param(Ratio(1.2, 1.19, 1.21), 0.0, False, id="much faster"),
        pytest.param(Ratio(0.8, 0.79, 0.81), 0.0, False, id="much slower"),
        pytest.param(Ratio(1.03, 0.98, 1.08), 0.0, True, id="too restless to tell"),
        pytest.param(Ratio(1.001, 0.92, 1.08), 0.0, False, id="restless about 1"),
        pytest.param(Ratio(2.5, 2.3, 2.7), 0.0, False, id="restless, and much faster anyway"),
        pytest.param(Ratio(0.92, 0.89, 0.95), 0.1, True, id="slower by what was charged"),
        pytest.param(Ratio(1.009, 0.99, 1.03), 0.01, False, id="charged less than can be told"),
    ],
)
def test_when_a_ratio_needs_a_recheck(ratio: Ratio, charged: float, doubtful: bool) -> None:
    plan = load_protocol("strict").timing_on("cuda")
    assert plan.recheck_band == 0.05 and plan.resolution == 0.02
    assert needs_recheck(ratio, plan, charged) is doubtful


def test_nothing_is_in_doubt_where_rounds_are_fixed() -> None:
    for rules in (load_protocol("strict").timing_on("cpu"), load_protocol("v0.1").timing_on("cuda")):
        assert not needs_recheck(Ratio(1.0, 0.5, 2.0), rules, charged=0.5)


@pytest.mark.parametrize(
    ("ratio", "open_still"),
    [
        pytest.param(Ratio(1.013, 0.99, 1.04), True, id="a tie that is hardly one"),
        pytest.param(Ratio(0.987, 0.96, 1.01), True, id="hardly a tie, and slower"),
        pytest.param(Ratio(1.009, 0.98, 1.03), False, id="a tie"),
        pytest.param(Ratio(1.03, 1.01, 1.05), False, id="faster, as all of them say"),
        pytest.param(Ratio(0.97, 0.95, 0.99), False, id="slower, as all of them say"),
        pytest.param(Ratio(1.2, 0.9, 1.6), False, id="restless, and beyond doubt"),
    ],
)
def test_when_three_pairs_of_processes_leave_it_open(ratio: Ratio, open_still: bool) -> None:
    assert needs_further_recheck(ratio, load_protocol("strict").timing_on("cuda")) is open_still
