"""The statistics of a run, as pure functions of numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist, fmean, stdev

from scipy.special import stdtrit

CONFIDENCE = 0.95


def wilson(successes: float, total: int, confidence: float = CONFIDENCE) -> tuple[float, float]:
    """Interval for a share of `successes` in `total` draws; (0, 1) when nothing was drawn.

    Wilson (1927), "Probable inference, the law of succession, and statistical inference". `successes` may be
    a sum of shares between 0 and 1 (several samples a problem): their variance is at most that of whole
    successes, so the interval is then wider than it need be, never narrower.
    """
    if total == 0:
        return (0.0, 1.0)
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    share, weight = successes / total, z * z / total
    centre = (share + weight / 2) / (1 + weight)
    reach = z / (1 + weight) * math.sqrt(share * (1 - share) / total + weight / (4 * total))
    # Rounding must not put 0 of n or n of n outside their own interval.
    return (min(share, max(0.0, centre - reach)), max(share, min(1.0, centre + reach)))


def pass_at_k(samples: int, successes: int, k: int) -> float:
    """Unbiased chance that at least one of `k` samples succeeds, 1 - C(n - c, k) / C(n, k).

    Chen et al. (2021), "Evaluating large language models trained on code", equation 1. Raises ValueError if
    fewer than `k` samples were drawn: there is no unbiased estimate then.
    """
    if not 1 <= k <= samples or not 0 <= successes <= samples:
        raise ValueError(f"no estimate of pass@{k} from {successes} successes in {samples} samples")
    return 1 - math.comb(samples - successes, k) / math.comb(samples, k)


def geometric_mean(
    ratios: Sequence[float], confidence: float = CONFIDENCE
) -> tuple[float, tuple[float, float] | None] | None:
    """Geometric mean of `ratios` and its interval; None for no ratios, no interval for a single one.

    The interval is Student's t on the logarithms: it says how far the mean would move with other problems of
    the same kind, not how noisy each ratio is.
    """
    if not ratios:
        return None
    logs = [math.log(ratio) for ratio in ratios]
    mean = fmean(logs)
    if len(logs) == 1:
        return math.exp(mean), None
    reach = float(stdtrit(len(logs) - 1, (1 + confidence) / 2)) * stdev(logs) / math.sqrt(len(logs))
    return math.exp(mean), (math.exp(mean - reach), math.exp(mean + reach))


def matched_difference(gains: Sequence[float], confidence: float = CONFIDENCE) -> tuple[float, float]:
    """Interval for the mean of `gains`, each the difference between two shares of one problem, from -1 to 1.

    Agresti & Min (2005), "Simple improved confidence intervals for comparing matched proportions": half a pair is
    added to each of the four cells before Wald's interval is taken. It holds for no difference at all, too.
    """
    if not gains:
        return (-1.0, 1.0)
    total = len(gains) + 2
    centre = sum(gains) / total
    # Two of the four half pairs differ, one each way; they add 1/2 + 1/2 to the squares.
    variance = (sum(gain * gain for gain in gains) + 1 - sum(gains) ** 2 / total) / total**2
    reach = NormalDist().inv_cdf((1 + confidence) / 2) * math.sqrt(variance)
    mean = fmean(gains)
    return (min(mean, max(-1.0, centre - reach)), max(mean, min(1.0, centre + reach)))


def from_to(interval: tuple[float, float]) -> str:
    """An interval of a ratio for a reader: `0.98 to 1.25`. Of a handful of problems it can span powers of ten."""
    low, high = interval
    return f"{low:.2f} to {high:.2f}" if high < 1000 else f"{low:.2f} to more than 1000"
