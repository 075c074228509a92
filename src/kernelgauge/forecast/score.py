"""A predictor's score on a split: forecasts of rows that it has not learnt from, held against what was measured."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernelgauge.errors import UsageError
from kernelgauge.forecast import metrics
from kernelgauge.forecast.predictors.predictor import Predictor, labels, octaves
from kernelgauge.forecast.splits import Fold
from kernelgauge.schema import FORMAT, Record
from kernelgauge.schema.forecast import TIE, Comparison, Forecast

DRAWS = 1000
"""Of problems, for an interval."""
WITHIN = 0.8
"""Of the best speedup: what GPU Forecasters call found."""

Figure = float | None
"""None where there is nothing to take it of, or no order in it."""


class Speed(Record):
    """How well speeds were foreseen, over the rows with a speedup whose forecast does not abstain."""

    rows: int
    """With a speedup."""
    answered: int
    """Of them, for which something was foreseen; all figures below are of these."""
    ties: int
    """Of those answered, measured as ties."""
    bin_error: Figure
    bin_error_interval: tuple[float, float] | None
    """95 %, by drawing problems again."""
    accuracy: Figure
    distance: Figure
    """In octaves."""
    spearman: Figure
    """Within folds, the mean by their rows; so is `Rightness.auroc`."""
    mape: Figure
    """In percent of the candidate's time."""
    brier: Figure
    brier_interval: tuple[float, float] | None
    crps: Figure
    """In octaves."""
    crps_interval: tuple[float, float] | None
    ece: Figure


class Choice(Record):
    """What is lost if of a problem's candidates only the k foreseen as the fastest are measured."""

    k: int
    pools: int
    """Problems on a device with more than k candidates that have a speedup."""
    regret: Figure
    """Mean over them. An abstention counts as a forecast of 1x."""
    found: Figure
    """Share of them in which the best measured has at least 80 % of the best speedup."""


class Rightness(Record):
    """How well it was foreseen which candidates are right, over those held against a reference."""

    rows: int
    right: int
    brier: Figure
    """Of two outcomes, from 0 to 1."""
    ece: Figure
    auroc: Figure


class Score(Record):
    """A predictor on one split, all folds together: every row is tested once."""

    format: int = FORMAT
    predictor: str
    split: str
    folds: tuple[str, ...]
    """What each held out."""
    speed: Speed
    by_kind: dict[str, Speed]
    """Against references, and in pairs."""
    choice: Choice
    right: Rightness


def forecasts(
    predictor: Predictor, parts: Sequence[Fold], tell: Callable[[str], None] | None = None
) -> list[Forecast]:
    """What a predictor foresees of every fold's rows to test, after learning from the others.

    Args:
        tell: called with the name of each fold that is done.
    """
    found: list[Forecast] = []
    for fold in parts:
        predictor.fit(fold.train)
        found += predictor.predict([row.question for row in fold.test])
        if tell is not None:
            tell(fold.held_out)
    return found


def score(
    name: str, split: str, parts: Sequence[Fold], found: Iterable[Forecast], k: int = 1, lowest: float = 0.0
) -> Score:
    """The score of forecasts on a split.

    Args:
        found: one forecast for each row to test, in any order; others are of no interest.
        k: candidates that are measured of each pool.
        lowest: a forecast whose likeliest class has a smaller probability counts as an abstention.

    Raises:
        UsageError: a row has no forecast.
    """
    rows = [row for fold in parts for row in fold.test]
    known = {each.id: each for each in found}
    if missing := [row for row in rows if row.id not in known]:
        raise UsageError(
            f"{len(missing)} of {len(rows)} questions, such as {missing[0].id} ({missing[0].problem}), have no "
            "forecast"
        )
    told = [[(row, _sure_enough(known[row.id], lowest)) for row in fold.test] for fold in parts]
    kinds = {kind: [_of_kind(part, kind) for part in told] for kind in ("reference", "pair")}
    return Score(
        predictor=name,
        split=split,
        folds=tuple(fold.held_out for fold in parts),
        speed=_speed(told),
        by_kind={kind: _speed(found) for kind, found in kinds.items()},
        choice=_choice([each for part in told for each in part], k),
        right=_right(kinds["reference"]),
    )


Told = tuple[Comparison, Forecast]


def _sure_enough(forecast: Forecast, lowest: float) -> Forecast:
    if forecast.probabilities is None or max(forecast.probabilities) >= lowest:
        return forecast
    return Forecast(id=forecast.id, abstains=True, right=forecast.right, reason=forecast.reason)


def _of_kind(told: Sequence[Told], kind: str) -> list[Told]:
    return [(row, forecast) for row, forecast in told if row.kind == kind]


def _within(parts: Sequence[Sequence[Told]], figure: Callable[[Sequence[Told]], float]) -> Figure:
    """A figure of order within each fold, and its mean by their rows; None where no fold has an order.

    Between folds a forecast has learnt from other rows, so that even whoever says the same of all rows of a fold
    would have some order, the wrong one.
    """
    found = [(figure(part), len(part)) for part in parts if part]
    known = [(value, count) for value, count in found if math.isfinite(value)]
    return sum(value * count for value, count in known) / sum(count for _, count in known) if known else None


def _speed(parts: Sequence[Sequence[Told]]) -> Speed:
    measured = [[(row, forecast) for row, forecast in part if row.speedup is not None] for part in parts]
    split = [[(row, forecast) for row, forecast in part if not forecast.abstains] for part in measured]
    answered = [each for part in split for each in part]
    rows = [row for row, _ in answered]
    chances = np.array([forecast.probabilities for _, forecast in answered], dtype=np.float64)
    foreseen = np.array([forecast.label for _, forecast in answered], dtype=np.int64)
    guesses = np.array([forecast.octaves for _, forecast in answered], dtype=np.float64)
    came, where = labels(rows), octaves(rows)
    figures: dict[str, Any] = {"bin_error": None, "brier": None, "crps": None}
    intervals: dict[str, Any] = {f"{name}_interval": None for name in figures}
    if answered:
        each = {
            "bin_error": np.abs(foreseen - came).astype(np.float64),
            "brier": ((chances - np.eye(chances.shape[1])[came]) ** 2).sum(axis=1),
            "crps": np.array([metrics.crps(chances[[i]], where[[i]]) for i in range(len(rows))]),
        }
        figures = {
            "bin_error": metrics.bin_error(foreseen, came),
            "brier": metrics.brier(chances, came),
            "crps": metrics.crps(chances, where),
        }
        intervals = {f"{name}_interval": drawn_again(values, rows) for name, values in each.items()}
    return Speed(
        rows=sum(map(len, measured)),
        answered=len(answered),
        ties=int((came == TIE).sum()),
        **figures,
        **intervals,
        accuracy=_figure(metrics.accuracy(foreseen, came)),
        distance=_figure(metrics.distance(guesses, where)),
        spearman=_within(split, _order),
        mape=_figure(metrics.mape(guesses, np.array([row.speedup for row in rows], dtype=np.float64))),
        ece=_figure(metrics.ece(chances.max(axis=1), foreseen == came)) if answered else None,
    )


def _order(told: Sequence[Told]) -> float:
    guesses = np.array([forecast.octaves for _, forecast in told])
    return metrics.spearman(guesses, octaves([row for row, _ in told]))


def drawn_again(values: NDArray[np.float64], rows: Sequence[Comparison]) -> tuple[float, float]:
    """95 % interval of a mean over rows, by drawing problems with all of their rows again.

    The percentile bootstrap over clusters (A. C. Davison, D. V. Hinkley, Bootstrap Methods and their Application,
    1997, section 3.8): rows of one problem resemble each other, so that its rows are not so many draws.
    """
    names = sorted({row.problem for row in rows})
    places = {name: place for place, name in enumerate(names)}
    of = np.array([places[row.problem] for row in rows])
    sums, counts = np.bincount(of, values, len(names)), np.bincount(of, minlength=len(names))
    drawn = np.random.default_rng(0).integers(len(names), size=(DRAWS, len(names)))
    means = sums[drawn].sum(axis=1) / counts[drawn].sum(axis=1)
    low, high = np.quantile(means, (0.025, 0.975))
    return float(low), float(high)


def pools(told: Iterable[Told]) -> list[list[Told]]:
    """Candidates of one problem that were judged alike on one device: what a search could have chosen among."""
    found: dict[tuple[str | None, ...], list[Told]] = defaultdict(list)
    for row, forecast in told:
        if row.kind == "reference":
            found[row.problem, row.problem_digest, row.sizes, row.math, row.protocol, row.gpu].append((row, forecast))
    return list(found.values())


def _choice(told: Sequence[Told], k: int) -> Choice:
    regrets, hits = [], []
    for pool in pools([(row, forecast) for row, forecast in told if row.speedup is not None]):
        if len(pool) <= k:
            continue
        guesses = np.array([forecast.octaves for _, forecast in pool])
        speeds = np.array([row.speedup for row, _ in pool], dtype=np.float64)
        regrets.append(metrics.regret(guesses, speeds, k))
        hits.append(metrics.best_of(guesses, (speeds >= WITHIN * speeds.max()).astype(np.float64), k))
    return Choice(k=k, pools=len(regrets), regret=_mean(regrets), found=_mean(hits))


def _right(parts: Sequence[Sequence[Told]]) -> Rightness:
    split = [[(row, forecast) for row, forecast in part if forecast.right is not None] for part in parts]
    chances, came = _chances([each for part in split for each in part])
    sure = np.where(chances >= 0.5, chances, 1 - chances)
    return Rightness(
        rows=len(came),
        right=int(came.sum()),
        brier=_figure(float(((chances - came) ** 2).mean())) if len(came) else None,
        ece=_figure(metrics.ece(sure, (chances >= 0.5) == came)),
        auroc=_within(split, lambda part: metrics.auroc(*_chances(part))),
    )


def _chances(told: Sequence[Told]) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """The chances foreseen of being right, and who was."""
    chances = np.array([forecast.right for _, forecast in told], dtype=np.float64)
    return chances, np.array([row.passed for row, _ in told], dtype=bool)


def _mean(values: Sequence[float]) -> Figure:
    return float(np.mean(values)) if values else None


def _figure(value: float) -> Figure:
    return value if math.isfinite(value) else None
