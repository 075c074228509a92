"""The simple predictors, functions as predictors, scores and the evaluations that an order saves."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest
from comparisons import H100, H200, make_row

from kernelgauge.errors import UsageError
from kernelgauge.forecast.predictors.functions import Function
from kernelgauge.forecast.predictors.nearest import NearestNeighbour, jaccard
from kernelgauge.forecast.predictors.predictor import Predictor
from kernelgauge.forecast.predictors.registry import BUILT_IN, predictor_named
from kernelgauge.forecast.replay import replay
from kernelgauge.forecast.score import drawn_again, forecasts, score
from kernelgauge.forecast.splits import Fold, folds
from kernelgauge.schema.forecast import CLASSES, TIE, Comparison, Forecast, Question


def lengths() -> list[Comparison]:
    """Forty problems whose longer kernel is twice as fast, the shorter one half; every fifth has a wrong one."""
    rows = []
    for number in range(40):
        rows.append(make_row(f"1/{number}", 2.0, source=f"# {number}\n" + "x = 1\n" * 400))
        rows.append(make_row(f"1/{number}", 0.5, source=f"# {number}\n" + "y = 1\n" * 3))
        if number % 5 == 0:
            rows.append(make_row(f"1/{number}", None, source=f"# {number}\nwrong\n"))
    return rows


class Knows:
    """Foresees what came, by the digest of the text."""

    def __init__(self, rows: Sequence[Comparison]):
        self._rows = {row.id: row for row in rows}

    def fit(self, rows: Sequence[Comparison]) -> None:
        pass

    def predict(self, questions: Sequence[Question]) -> list[Forecast]:
        return [self._of(self._rows[each.id]) for each in questions]

    def _of(self, row: Comparison) -> Forecast:
        place = TIE if row.label is None else row.label
        sure = tuple(float(each == place) for each in range(len(CLASSES)))
        return Forecast(id=row.id, probabilities=sure, speedup=row.speedup or 1.0, right=float(row.passed))


def scored(predictor: Predictor, rows: Sequence[Comparison], parts: Sequence[Fold] | None = None):
    chosen = parts or folds(rows, "problem")
    return score("it", "problem", chosen, forecasts(predictor, chosen))


TREES = pytest.mark.proof("forecast", "checks/source/traits.py")
"""Of tests that take seconds, since trees are fitted."""


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=TREES if name.startswith("trees") else ()) for name in BUILT_IN]
)
def test_every_simple_predictor_answers_every_question_of_an_unseen_problem(name: str) -> None:
    if name.startswith("trees"):
        pytest.importorskip("sklearn", reason="needs the extra forecast")
    rows = lengths()
    parts = folds(rows, "problem")
    found = forecasts(predictor_named(name), parts)
    assert sorted(each.id for each in found) == sorted(row.id for row in rows)
    result = score(name, "problem", parts, found)
    assert (result.speed.rows, result.speed.answered, result.right.rows, result.right.right) == (80, 80, 88, 80)
    assert result.speed.bin_error is not None and result.speed.bin_error_interval is not None
    assert result.speed.bin_error_interval[0] <= result.speed.bin_error <= result.speed.bin_error_interval[1]


@pytest.mark.parametrize("name", ["length", "nearest", pytest.param("trees", marks=TREES)])
def test_what_can_be_learnt_from_texts_is_learnt(name: str) -> None:
    if name == "trees":
        pytest.importorskip("sklearn", reason="needs the extra forecast")
    rows = lengths()
    result, always = scored(predictor_named(name), rows), scored(predictor_named("one"), rows)
    assert result.speed.bin_error == 0 and always.speed.bin_error == 2.5
    assert result.speed.crps < always.speed.crps  # type: ignore[operator]
    assert result.choice.regret == 0 and always.choice.regret == pytest.approx(1 - (2.0 + 0.5) / 2 / 2.0)
    assert always.speed.spearman is None


def test_the_bound_is_known_by_the_headroom_of_the_anchor() -> None:
    rows = [make_row(f"1/{n}", 2.0 ** (n % 4), anchor_ms=0.5 * 2.0 ** (n % 4)) for n in range(40)]
    result = scored(predictor_named("bound"), rows)
    assert result.speed.spearman > 0.97  # each fold has a line of its own, equal up to rounding
    without = [row.model_copy(update={"bound_ms": None}) for row in rows]
    assert scored(predictor_named("bound"), without).speed.bin_error > 1


def test_whoever_knows_has_no_error() -> None:
    rows = lengths()
    result = scored(Knows(rows), rows)
    speed, right = result.speed, result.right
    assert (speed.bin_error, speed.accuracy, speed.mape, speed.brier, speed.ece) == (0, 1, 0, 0, 0)
    assert (result.choice.regret, result.choice.found, right.brier, right.auroc) == (0, 1, 0, 1)


def test_a_tie_is_foreseen_by_always_one() -> None:
    rows = [make_row(f"1/{n}", 1.005) for n in range(10)]
    result = scored(predictor_named("one"), rows)
    assert (result.speed.bin_error, result.speed.ties, result.speed.crps) == (0, 10, 0)


def test_abstentions_are_counted_and_a_forecast_that_is_not_sure_is_one() -> None:
    rows = lengths()
    parts = folds(rows, "problem")
    found = forecasts(predictor_named("frequencies"), parts)
    assert score("it", "problem", parts, found, lowest=0.9).speed.answered == 0
    some = [Forecast(id=each.id, abstains=True) if i % 2 else each for i, each in enumerate(found)]
    result = score("it", "problem", parts, some)
    assert 0 < result.speed.answered < result.speed.rows == 80
    with pytest.raises(UsageError, match="of 88 questions, such as"):
        score("it", "problem", parts, found[1:])


def test_the_interval_is_over_problems() -> None:
    rows = [make_row(f"1/{n // 10}") for n in range(40)]
    values = np.repeat([0.0, 0.0, 1.0, 1.0], 10)
    low, high = drawn_again(values, rows)
    assert low == 0.0 and high == 1.0  # of four problems; of forty rows it would be 0.35 to 0.65


def test_a_gpu_that_was_not_seen_has_the_neighbours_of_the_other() -> None:
    rows = [
        make_row(f"1/{n}", 0.3 if n % 2 else 3.0, gpu=gpu, source=f"kernel {n} a{n} b{n} c{n}")
        for n in range(12)
        for gpu in (H100, H200)
    ]
    result = scored(NearestNeighbour(), rows, folds(rows, "same-kernels"))
    assert result.speed.bin_error == 0


def test_likeness_is_jaccards() -> None:
    assert jaccard(["a b c d"], ["a b c e", "a b c d", "x y z"]).tolist() == [[1 / 3, 1.0, 0.0]]


def by_length(question: Question) -> float | None:
    """The user's own: a speedup."""
    return 2.0 if len(question.candidate.source) > 1000 else 0.5


def test_a_function_says_speedups_probabilities_or_nothing() -> None:
    rows = lengths()
    assert scored(Function(by_length), rows).speed.bin_error == 0
    even = scored(Function(lambda question: [1 / 9] * 9), rows)
    assert even.speed.brier == pytest.approx((8 / 9) ** 2 + 8 / 81)
    nothing = scored(Function(lambda question: None), rows)
    assert (nothing.speed.answered, nothing.speed.rows) == (0, 80)


@pytest.mark.parametrize(
    ("said", "why"),
    [
        (-1.0, "it must be above 0"),
        ([0.5] * 9, "add up to"),
        ("2x", "a forecast, a speedup or None"),
        (ZeroDivisionError(), "failed on question"),
    ],
)
def test_a_function_that_says_something_else_is_named(said: object, why: str) -> None:
    def function(question: Question) -> object:
        if isinstance(said, Exception):
            raise said
        return said

    with pytest.raises(UsageError, match=why):
        scored(Function(function, "mine"), lengths())  # type: ignore[arg-type]


def test_a_function_is_never_told_the_answer() -> None:
    def peeks(question: Question) -> float:
        assert not {"speedup", "interval", "outcome"} & set(vars(question))
        return 1.0

    scored(Function(peeks), lengths())


def test_evaluations_saved_by_hand() -> None:
    """Three kernels of a problem: 0.5x, wrong, 2x. Stored last, foreseen first; at random it comes second."""
    rows = [make_row("1/1", 0.5), make_row("1/1", None), make_row("1/1", 2.0), make_row("1/2", 3.0)]
    sure = Knows(rows)
    told = list(zip(rows, sure.predict(rows), strict=True))
    found = replay("it", "problem", told)
    assert (found.pools, found.candidates) == (1, 3)  # of one kernel there is nothing to choose
    assert (found.by_forecast, found.as_stored, found.at_random) == (1, 3, 2.0)
    assert found.over_random == 0.5
    # Whoever foresees nothing has them in random order.
    alike = [(row, Forecast(id=row.id, abstains=True)) for row in rows]
    assert replay("it", "problem", alike).over_random == 0


def test_kernels_whose_intervals_meet_are_as_good() -> None:
    rows = [make_row("1/1", 2.0), make_row("1/1", 1.99), make_row("1/1", 1.0)]
    pool = replay("it", "problem", [(row, Forecast(id=row.id, abstains=True)) for row in rows]).each[0]
    assert (pool.as_good, pool.at_random, pool.by_forecast) == (2, 4 / 3, 4 / 3)


def test_an_unknown_predictor_is_refused() -> None:
    with pytest.raises(UsageError, match="unknown predictor 'tree'; did you mean trees"):
        predictor_named("tree")


def test_a_module_brings_a_function(monkeypatch: pytest.MonkeyPatch, tmp_path) -> None:
    (tmp_path / "own_forecast.py").write_text("def guess(question):\n    return 1.5\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    rows = lengths()
    assert scored(predictor_named("own_forecast:guess"), rows).speed.distance == pytest.approx(
        (abs(1 - math.log2(1.5)) + 1 + math.log2(1.5)) / 2
    )
