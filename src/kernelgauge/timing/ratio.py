"""How many times faster, and how sure: estimates of a ratio of times with their intervals. Pure functions."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri, stdtrit

_RESAMPLINGS = 2000
_RESAMPLING_SEED = 0


@dataclass(frozen=True)
class Ratio:
    """A ratio of reference time to candidate time and its confidence interval."""

    estimate: float
    low: float
    high: float

    @property
    def half_width(self) -> float:
        """The larger of both sides of the interval, relative to the estimate."""
        return max(self.high - self.estimate, self.estimate - self.low) / self.estimate

    def covering(self, other: Ratio) -> Ratio:
        """The same estimate with an interval that holds the other's too."""
        return Ratio(self.estimate, min(self.low, other.low), max(self.high, other.high))

    def widened(self, below: float, above: float | None = None) -> Ratio:
        """The same estimate with an interval that reaches at least that far, relative to the estimate."""
        low, high = self.estimate * (1 - below), self.estimate * (1 + (below if above is None else above))
        return Ratio(self.estimate, min(self.low, low), max(self.high, high))


def median_deviation(samples: Sequence[float]) -> float:
    """Median absolute deviation from the median: scatter that single outliers do not move."""
    centre = statistics.median(samples)
    return statistics.median([abs(sample - centre) for sample in samples])


def standard_error_of_median(samples: Sequence[float]) -> float:
    """Standard error of the median of roughly normal samples: 1.2533 sigma / sqrt(n), sigma = 1.4826 deviations."""
    return 1.2533 * 1.4826 * median_deviation(samples) / math.sqrt(len(samples))


def paired(reference: Sequence[float], candidate: Sequence[float], confidence: float) -> Ratio:
    """Ratio from pairs measured next to each other, so that drift of the machine cancels.

    Hodges-Lehmann estimate of the log ratios with the Wilcoxon signed-rank interval (Hollander & Wolfe, Nonparametric
    Statistical Methods, section 3.2 to 3.3; normal approximation): nearly as sharp as a mean on quiet machines, and
    unmoved by single disturbed samples.

    Args:
        reference, candidate: times of the same unit, equal length of at least 2, all above zero.
    """
    logs = np.log(np.asarray(reference, float)) - np.log(np.asarray(candidate, float))
    count = len(logs)
    first, second = np.triu_indices(count)
    averages = np.sort((logs[first] + logs[second]) / 2)
    z = float(ndtri((1 + confidence) / 2))
    centre = count * (count + 1) / 4
    spread = math.sqrt(count * (count + 1) * (2 * count + 1) / 24)
    rank = max(int(centre - z * spread), 0)
    low, high = averages[rank], averages[len(averages) - 1 - rank]
    return Ratio(*(float(math.exp(value)) for value in (np.median(averages), low, high)))


def of_rounds(
    reference: Sequence[float], candidate: Sequence[float], rounds: Sequence[int], confidence: float
) -> Ratio:
    """Ratio from rounds of pairs, each in processes of its own: Student's t interval over the rounds' estimates.

    Pairs of one round share whatever is peculiar to their two processes, so their scatter says nothing about it; the
    scatter between rounds does.

    Args:
        rounds: pairs in each round, in order; at least two rounds of at least one pair.
    """
    ends = np.cumsum(rounds)
    pieces = [slice(end - size, end) for end, size in zip(ends, rounds, strict=True)]
    logs = [math.log(paired(reference[piece], candidate[piece], confidence).estimate) for piece in pieces]
    centre = statistics.fmean(logs)
    quantile = float(stdtrit(len(logs) - 1, (1 + confidence) / 2))
    half = quantile * statistics.stdev(logs) / math.sqrt(len(logs))
    return Ratio(math.exp(centre), math.exp(centre - half), math.exp(centre + half))


def of_paired_means(reference: Sequence[float], candidate: Sequence[float], confidence: float) -> Ratio:
    """Ratio of the means of pairs, with the percentile interval of a bootstrap over pairs (Efron & Tibshirani, An
    Introduction to the Bootstrap, chapter 13): unlike `paired`, it feels every slow call, disturbed ones too.

    Args:
        reference, candidate: times of the same unit, equal length, all above zero.
    """
    a, b = np.asarray(reference, float), np.asarray(candidate, float)
    # The same figures give the same interval: whoever recomputes a record must come to what stands there.
    drawn = np.random.default_rng(_RESAMPLING_SEED).integers(0, len(a), (_RESAMPLINGS, len(a)))
    ratios = a[drawn].mean(axis=1) / b[drawn].mean(axis=1)
    low, high = np.quantile(ratios, [(1 - confidence) / 2, (1 + confidence) / 2])
    estimate = float(a.mean() / b.mean())
    return Ratio(estimate, min(float(low), estimate), max(float(high), estimate))


def of_means(reference: Sequence[float], candidate: Sequence[float], confidence: float) -> Ratio:
    """Ratio of two means measured one after the other; interval by the delta method on the logarithm."""
    a, b = np.asarray(reference, float), np.asarray(candidate, float)
    estimate = float(a.mean() / b.mean())
    variance = a.var(ddof=1) / len(a) / a.mean() ** 2 + b.var(ddof=1) / len(b) / b.mean() ** 2
    width = float(ndtri((1 + confidence) / 2)) * math.sqrt(variance)
    return Ratio(estimate, estimate * math.exp(-width), estimate * math.exp(width))
