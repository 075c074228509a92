"""Delays of one side's calls, and what is left of them beside the other side's. Pure functions."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from kernelgauge.timing.ratio import median_deviation

SCATTER = 4.0
"""Times within so many standard deviations of the reference's are its usual scatter."""


def excess(taken: Sequence[float], own: Sequence[float], slack: float | None = None) -> list[float]:
    """Per call, what it took beyond the reference's median; 0 where that is no more than `slack`.

    Args:
        taken: what the calls of one side took.
        own: what the reference's took.
        slack: default: the reference's usual scatter.
    """
    usual = statistics.median(own)
    explained = usual + (SCATTER * 1.4826 * median_deviation(own) if slack is None else slack)
    return [value - usual if value > explained else 0.0 for value in taken]


def beyond_the_others(ours: Sequence[float], theirs: Sequence[float]) -> list[float]:
    """Our delays less theirs: the largest less the largest, the second less the second, and so on; in our order.

    A busy host delays either side's messages now and then. How many of the delays were chance cannot be told from
    what is left.
    """
    left = [0.0] * len(ours)
    largest = sorted(theirs, reverse=True)
    for rank, place in enumerate(sorted(range(len(ours)), key=lambda place: -ours[place])):
        left[place] = max(ours[place] - (largest[rank] if rank < len(largest) else 0.0), 0.0)
    return left
