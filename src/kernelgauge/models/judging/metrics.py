"""Metrics over the scores of `scorer.kernel`: over all problems and per level, each with its standard error.

A score has one 0/1 value for each threshold, so that Inspect's own reducers are right for it: `mean` over epochs is
the unbiased share, and `pass_at_k` the unbiased chance that the best of k samples succeeds (Chen et al. 2021). Both
would be wrong for speedups, so the geometric mean looks at the scores before they are reduced.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean, stdev

from inspect_ai.scorer import Metric, SampleScore, Value, metric

_SHARES = ("correct", "fast_")
_HEADLINES = ("correct", "fast_1")
"""What is there before any score is: Inspect warns where it does not find the task's headline."""


@metric
def overall() -> Metric:
    """Share of all problems that are right, and of those that are right and faster than p."""

    def computed(scores: list[SampleScore]) -> Value:
        return dict(_shares(scores, "")) or dict.fromkeys(_HEADLINES, math.nan)

    return computed


@metric
def by_level() -> Metric:
    """The same of each level."""

    def computed(scores: list[SampleScore]) -> Value:
        return {key: value for name, group in _levels(scores).items() for key, value in _shares(group, f"_{name}")}

    return computed


@metric(scores="unreduced")
def geometric_mean() -> Metric:
    """Geometric mean over problems of the speedups of right candidates; in a problem, over its samples.

    The standard error is that of the mean of logarithms times the mean itself: how far it would move with other
    problems of the same kind.
    """

    def computed(scores: list[SampleScore]) -> Value:
        if not any(isinstance(s.score.value, Mapping) and "speedup" in s.score.value for s in scores):
            return {}  # nothing was to be timed
        found = dict(_named("geomean", *_geometric(scores)))
        for name, group in _levels(scores).items():
            found |= dict(_named(f"geomean_{name}", *_geometric(group)))
        return found

    return computed


def _shares(scores: Sequence[SampleScore], suffix: str) -> Iterator[tuple[str, float]]:
    values = [score.score.value for score in scores]
    figures = [value for value in values if isinstance(value, Mapping)]
    names = dict.fromkeys(name for figure in figures for name in figure if name.startswith(_SHARES))
    for name in names:
        yield from _named(f"{name}{suffix}", *_mean([float(figure.get(name) or 0) for figure in figures]))


def _geometric(scores: Sequence[SampleScore]) -> tuple[float, float]:
    problems: dict[str, list[float]] = {}
    for score in scores:
        value = score.score.value
        ratio = float(value.get("speedup") or 0) if isinstance(value, Mapping) else 0.0
        if ratio > 0:  # NaN where there is none
            problems.setdefault(str(score.sample_id), []).append(math.log(ratio))
    mean, error = _mean([fmean(logs) for logs in problems.values()])
    return math.exp(mean), math.exp(mean) * error


def _levels(scores: Sequence[SampleScore]) -> dict[str, list[SampleScore]]:
    levels: dict[str, list[SampleScore]] = {}
    for score in scores:
        level = (score.sample_metadata or {}).get("level")
        levels.setdefault("own" if level is None else f"L{level}", []).append(score)
    return dict(sorted(levels.items()))


def _named(name: str, mean: float, error: float) -> Iterator[tuple[str, float]]:
    yield name, mean
    yield f"{name}_stderr", error


def _mean(figures: Sequence[float]) -> tuple[float, float]:
    """Mean and standard error; NaN where there are too few values for them.

    NaN among the figures is a value that is not there: Inspect reduces to it while a problem has fewer epochs than k.
    """
    values = [figure for figure in figures if math.isfinite(figure)]
    mean = fmean(values) if values else math.nan
    return mean, stdev(values) / math.sqrt(len(values)) if len(values) > 1 else math.nan
