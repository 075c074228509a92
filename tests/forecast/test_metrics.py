"""The metrics, against values worked out by hand."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest

from kernelgauge.forecast import metrics
from kernelgauge.schema.forecast import CLASSES, EDGES, TIE, Forecast, bin_of, class_of


def chances(**given: float) -> np.ndarray:
    """A row of probabilities by place, as `p4=0.5`."""
    row = np.zeros(len(CLASSES))
    for name, value in given.items():
        row[int(name[1:])] = value
    return row


def test_classes_are_the_fields_bins_with_a_tie_between() -> None:
    assert EDGES == (0.25, 0.5, 0.707, 1.0, 1.414, 2.0, 4.0)
    speeds = (0.1, 0.3, 0.6, 0.9, 1.0, 1.2, 1.7, 3.0, 9.0)
    assert [bin_of(speed) for speed in speeds] == list(range(9))
    assert bin_of(0.25) == 0  # an edge belongs to the class below it
    assert class_of(1.02, (0.99, 1.05)) == TIE  # whatever the estimate says
    assert class_of(1.02, (1.01, 1.03)) == TIE + 1
    assert class_of(0.98, (0.97, 1.0)) == TIE


def test_bin_error_counts_classes() -> None:
    assert metrics.bin_error(np.array([4, 8, 0]), np.array([4, 6, 1])) == 1.0
    assert metrics.accuracy(np.array([4, 8, 0]), np.array([4, 6, 1])) == pytest.approx(1 / 3)


def test_mape_is_of_times() -> None:
    # The anchor takes 8 ms. Foreseen 2x and 1x, so 4 and 8 ms; measured 4x and 1x, so 2 and 8 ms: 100 % and 0 % off.
    assert metrics.mape(np.array([1.0, 0.0]), np.array([4.0, 1.0])) == 50.0


def test_brier_of_several_classes() -> None:
    rows = np.array([chances(p4=1.0), chances(p4=0.5, p5=0.5), chances(p0=1.0)])
    # 0; 0.25 + 0.25; 1 + 1
    assert metrics.brier(rows, np.array([4, 5, 8])) == pytest.approx(2.5 / 3)


def test_crps_of_a_sure_forecast_is_its_distance() -> None:
    assert metrics.crps(np.array([chances(p8=1.0)]), np.array([1.5])) == pytest.approx(1.0)  # 2.5 and 1.5 octaves


def test_crps_by_hand() -> None:
    # Half at 0.25 and half at -0.25 octaves, measured 0.25: E|X - y| = 0.25, E|X - X'| = 0.25, so 0.125.
    assert metrics.crps(np.array([chances(p3=0.5, p5=0.5)]), np.array([0.25])) == pytest.approx(0.125)


def test_ece_by_hand() -> None:
    # Two at 0.9 of which one came: a gap of 0.4; two at 0.55, both came: 0.45.
    confidences = np.array([0.9, 0.9, 0.55, 0.55])
    came = np.array([True, False, True, True])
    assert metrics.ece(confidences, came) == pytest.approx((2 * 0.4 + 2 * 0.45) / 4)
    assert metrics.ece(np.array([1.0, 1.0]), np.array([True, True])) == 0.0


def test_spearman_has_ranks_of_equals_and_no_order_among_constants() -> None:
    assert metrics.spearman(np.array([1.0, 2.0, 3.0]), np.array([0.1, 0.2, 9.0])) == pytest.approx(1.0)
    # Ranks 1, 2.5, 2.5 and 1, 2, 3: 1.5 / sqrt(1.5 * 2).
    assert metrics.spearman(np.array([1.0, 2.0, 2.0]), np.array([1.0, 2.0, 3.0])) == pytest.approx(1.5 / math.sqrt(3))
    assert math.isnan(metrics.spearman(np.zeros(3), np.array([1.0, 2.0, 3.0])))


def test_auroc_counts_equals_half() -> None:
    # Of four pairs three are in order and one is equal.
    assert metrics.auroc(np.array([0.9, 0.5, 0.5, 0.1]), np.array([True, True, False, False])) == pytest.approx(
        3.5 / 4
    )
    assert math.isnan(metrics.auroc(np.array([0.9, 0.5]), np.array([True, True])))


def test_regret_by_hand() -> None:
    speeds = np.array([1.0, 4.0, 2.0])
    assert metrics.regret(np.array([0.0, 2.0, 1.0]), speeds) == 0.0
    assert metrics.regret(np.array([2.0, 0.0, 1.0]), speeds) == 0.75
    assert metrics.regret(np.array([2.0, 0.0, 1.0]), speeds, k=2) == 0.5


@pytest.mark.parametrize("k", range(1, 6))
def test_best_of_equal_guesses_is_the_mean_over_all_choices(k: int) -> None:
    speeds = np.array([0.5, 3.0, 1.0, 2.0, 0.7])
    guesses = np.array([1.0, 0.0, 0.0, 0.0, 0.0])
    choices = [(0, *rest) for rest in combinations(range(1, 5), k - 1)]
    expected = np.mean([max(speeds[list(chosen)]) for chosen in choices])
    assert metrics.best_of(guesses, speeds, k) == pytest.approx(expected)


def test_a_forecast_that_contradicts_itself_cannot_be_made() -> None:
    sure = tuple(float(p) for p in chances(p4=1.0))
    assert Forecast(id="a", probabilities=sure).label == TIE
    assert Forecast(id="a", probabilities=sure).octaves == 0.0
    for wrong in (
        {"probabilities": sure, "abstains": True},
        {"probabilities": sure[1:]},
        {"probabilities": (0.5, *sure[1:])},
        {},
    ):
        with pytest.raises(ValueError):
            Forecast(id="a", **wrong)  # type: ignore[arg-type]
