"""How good forecasts are: the field's metrics, as pure functions of what was foreseen and what was measured.

Arguments are arrays over n forecasts: `probabilities` float64 (n, 9) of `CLASSES`, `labels` int64 (n,) places in
them, `guesses` and `octaves` float64 (n,) log2 of the speedup foreseen and measured, where a measured tie is 0. All
give NaN for no forecasts.
"""

from __future__ import annotations

import math
import warnings
from math import comb

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata, spearmanr

from kernelgauge.schema.forecast import CENTRES

Floats = NDArray[np.float64]
Places = NDArray[np.int64]

BINS = 10
"""Of confidence, in `ece`."""


def bin_error(foreseen: Places, labels: Places) -> float:
    """Mean distance in classes, `mean |k' - k|`: the bin mismatch of GPU Forecasters (arXiv 2605.31464).

    Theirs has eight classes; here a tie is a ninth, in the middle, so faster instead of slower is two classes off.
    """
    return _mean(np.abs(foreseen - labels))


def accuracy(foreseen: Places, labels: Places) -> float:
    """Share of forecasts whose most likely class was right."""
    return _mean(foreseen == labels)


def distance(guesses: Floats, octaves: Floats) -> float:
    """Mean distance in octaves, `mean |log2 s' - log2 s|`: the speedup distance of GPU Forecasters."""
    return _mean(np.abs(guesses - octaves))


def mape(guesses: Floats, speedups: Floats) -> float:
    """Mean absolute percentage error of the candidate's time, `100 mean |t' - t| / t`.

    `t = anchor / s` and `t' = anchor / s'`, so `|t' - t| / t = |s / s' - 1|`. Others state it of latencies (LLMPerf,
    arXiv 2503.11244; A. de Myttenaere et al., Neurocomputing 192, 2016). It punishes a time foreseen too long without
    limit, and one too short by 100 at most.

    Args:
        speedups: as they were measured, ties too, float64, (n,).
    """
    return 100 * _mean(np.abs(speedups / 2.0**guesses - 1))


def spearman(guesses: Floats, octaves: Floats) -> float:
    """Rank correlation, equal values with their mean rank (C. Spearman, 1904).

    NaN for fewer than two, and where all guesses or all measured are equal: there is no order then.
    """
    if len(guesses) < 2:
        return math.nan
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of constant arguments, for which it gives NaN
        return float(spearmanr(guesses, octaves).statistic)


def brier(probabilities: Floats, labels: Places) -> float:
    """Mean squared error of the probabilities, `mean sum_k (p_k - o_k)^2` with `o` 1 for what came and 0 otherwise.

    G. W. Brier, Verification of forecasts expressed in terms of probability, Monthly Weather Review 78, 1950: from 0
    to 2 for several classes.
    """
    came = np.eye(probabilities.shape[1])[labels]
    return _mean(((probabilities - came) ** 2).sum(axis=1))


def crps(probabilities: Floats, octaves: Floats) -> float:
    """Continuous ranked probability score in octaves, `mean (E|X - y| - E|X - X'| / 2)`.

    T. Gneiting, A. E. Raftery, Strictly proper scoring rules, prediction, and estimation, JASA 102, 2007, equation
    21; X and X' are drawn from the classes' `CENTRES`, y is what was measured. Of a sure forecast it is the distance.
    """
    centres = np.array(CENTRES)
    to_measured = np.abs(centres[None, :] - octaves[:, None])
    among = np.abs(centres[None, :] - centres[:, None])
    spread = np.einsum("ni,ij,nj->n", probabilities, among, probabilities)
    return _mean((probabilities * to_measured).sum(axis=1) - spread / 2)


def ece(confidences: Floats, came: NDArray[np.bool_]) -> float:
    """Expected calibration error, `sum_b n_b / n |share that came in b - mean confidence in b|`.

    C. Guo et al., On calibration of modern neural networks, ICML 2017, equation 3: ten bins of equal width, closed
    above. Of few forecasts it is too large by chance alone.

    Args:
        confidences: in what was foreseen, from 0 to 1, float64, (n,).
        came: whether it came.
    """
    if not len(confidences):
        return math.nan
    bins = np.clip(np.ceil(confidences * BINS).astype(int) - 1, 0, BINS - 1)
    gaps = [
        abs(float(came[bins == each].mean() - confidences[bins == each].mean())) * float((bins == each).sum())
        for each in np.unique(bins)
    ]
    return sum(gaps) / len(confidences)


def auroc(chances: Floats, came: NDArray[np.bool_]) -> float:
    """Chance that of two, one that came and one that did not, the former was foreseen as likelier; equals count half.

    The Mann-Whitney statistic (J. A. Hanley, B. J. McNeil, Radiology 143, 1982). NaN without one of both kinds.
    """
    positive = int(came.sum())
    negative = len(came) - positive
    if not positive or not negative:
        return math.nan
    ranks = rankdata(chances)
    return float((ranks[came].sum() - positive * (positive + 1) / 2) / (positive * negative))


def best_of(guesses: Floats, speedups: Floats, k: int) -> float:
    """The best speedup among the k that were foreseen as the fastest; equal guesses in random order, so its mean.

    `E max(A, B)`, where A is the best of those surely taken and B the best of r drawn from the m equal ones at the
    limit: the i-th best of these is the best drawn with probability `C(m - i, r - 1) / C(m, r)`.
    """
    limit = np.sort(guesses)[::-1][min(k, len(guesses)) - 1]
    surely = speedups[guesses > limit]
    equal = np.sort(speedups[guesses == limit])[::-1]
    drawn = min(k, len(guesses)) - len(surely)
    floor = float(surely.max()) if len(surely) else -math.inf
    ways = comb(len(equal), drawn)
    return sum(
        max(floor, float(speed)) * comb(len(equal) - place, drawn - 1) / ways
        for place, speed in enumerate(equal, 1)
        if len(equal) - place >= drawn - 1
    )


def regret(guesses: Floats, speedups: Floats, k: int = 1) -> float:
    """What is lost if only the k candidates foreseen as the fastest are measured: `1 - best of them / best of all`.

    The regret of GPU Forecasters, of one problem's candidates. 0: the best was among them.
    """
    return 1 - best_of(guesses, speedups, k) / float(speedups.max())


def _mean(values: NDArray) -> float:
    return float(values.mean()) if len(values) else math.nan
