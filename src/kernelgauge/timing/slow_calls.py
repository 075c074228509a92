"""What slow calls cost: a median forgives one of ten that takes ten times as long; whoever waits for it does not."""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from kernelgauge.config import TimingPlan
from kernelgauge.timing.ratio import Ratio, of_paired_means

# A mean so far below typical calls needs more samples, until it is sure or is seen to be an accident.
_MATTERS = 0.1


@dataclass(frozen=True)
class SlowCalls:
    """The ratio of the means of all calls, beside that of typical ones."""

    means: Ratio
    count: bool
    """Whether the candidate is surely slower on average than in a typical call. Surely: the whole interval of the
    means lies, by more than the device can tell apart, below the ratio that typical calls would have if each of both
    sides took as much longer as the reference does on average; and so do the means of most rounds. What disturbs a
    machine comes to both sides alike, or to one pair of processes."""
    open: bool
    """Whether more samples must show if slow calls are the candidate's own or an accident."""

    def counted(self, typical: Ratio) -> Ratio:
        """The ratio of the means, with an interval that claims no more than that of typical calls."""
        estimate = self.means.estimate
        below, above = (bound / typical.estimate * estimate for bound in (typical.low, typical.high))
        return Ratio(estimate, min(self.means.low, below), max(self.means.high, above))


def slow_calls(
    reference: Sequence[float], candidate: Sequence[float], rounds: Sequence[int], typical: float, plan: TimingPlan
) -> SlowCalls:
    """Whether the candidate's slow calls matter.

    Args:
        reference, candidate: times of pairs, of the same unit.
        rounds: pairs in each finished round; none while the first goes on.
        typical: ratio of typical calls.
    """
    means = of_paired_means(reference, candidate, plan.confidence)
    # As much on both sides costs the shorter call a larger share: a fast kernel is not slow for that.
    average = statistics.fmean(reference)
    disturbed = max(average - statistics.median(reference), 0.0)
    due = min(typical, average / ((average - disturbed) / typical + disturbed))
    lower = due * (1 - plan.resolution)
    ends = list(itertools.accumulate(rounds)) or [len(reference)]
    pieces = [slice(start, end) for start, end in itertools.pairwise([0, *ends])]
    by_round = [statistics.fmean(reference[piece]) / statistics.fmean(candidate[piece]) for piece in pieces]
    sure = means.high < lower
    most = 2 * sum(ratio < lower for ratio in by_round) > len(by_round)
    return SlowCalls(means, sure and most, not sure and means.estimate < due * (1 - _MATTERS))
