"""When to stop sampling, and when to begin again in fresh processes."""

from __future__ import annotations

from typing import Literal

from kernelgauge.config import TimingPlan
from kernelgauge.timing.ratio import Ratio

Why = Literal["precise", "budget", "fixed"]
# So many times the half width that is asked for; up to there time alone is what lacked.
_RESTLESS = 1.5


def finished(
    plan: TimingPlan,
    samples: int,
    seconds: float,
    ratio: Ratio | None,
    resolution: float = 0.0,
    share: float = 1.0,
    own: int | None = None,
) -> Why | None:
    """Why sampling may end after so many pairs and seconds; None if it should go on.

    `precise`: the interval is narrow enough; `fixed`: the protocol's fixed count is reached; `budget`: time or the
    largest number of samples is spent. Never before each pair of processes has its part of `min_samples` (a few pairs
    say nothing of what is peculiar to it), unless twice the time budget is gone.

    Args:
        resolution: half width below which the device cannot tell ratios apart.
        share: how much of samples and budget may be spent by now, where they are shared out over several rounds.
        own: how many of the samples these processes have taken; default: all.
    """
    if (samples if own is None else own) < plan.min_samples / plan.processes:
        return "budget" if samples >= 2 and seconds > 2 * plan.budget_seconds * share else None
    if plan.half_width > 0 and ratio is not None and ratio.half_width <= max(plan.half_width, resolution) + 1e-9:
        return "precise"
    if samples >= plan.max_samples * share:
        return "fixed" if plan.half_width == 0 else "budget"
    return "budget" if seconds > plan.budget_seconds * share else None


def restless(interval: tuple[float, float], stopped: Why, plan: TimingPlan) -> bool:
    """Whether sampling ended for want of time with an interval much wider than the plan asks for.

    Args:
        interval: of the ratio, whole.
    """
    low, high = interval
    allowed = _RESTLESS * max(plan.half_width, plan.resolution)
    return stopped == "budget" and high * (1 - allowed) > low * (1 + allowed)


def needs_recheck(ratio: Ratio, plan: TimingPlan, charged: float = 0.0) -> bool:
    """Whether fresh processes may say something else than those that were measured.

    Near 1, where what they say apart from it may be their own, told with confidence or not: two processes of one text
    differ by up to the resolution, three pairs of them on average by half of that. And wherever more was charged than
    the device can tell apart: a busy machine looks like somebody who hides work, but not twice.

    Args:
        ratio: the ratio with an interval that holds all we know.
        charged: what was added to the times of one side, as a share of them.
    """
    return _near_one(ratio, plan) or (plan.recheck_band > 0 and charged > plan.resolution)


def needs_further_recheck(ratio: Ratio, plan: TimingPlan) -> bool:
    """Whether processes that were asked again leave a tie that is off 1 by more than half the resolution.

    Three pairs of processes of one text are off by that now and then, more of them less often; a difference that is
    told from 1 needs no more.

    Args:
        ratio: the ratio with an interval that holds all we know, the scatter between the pairs too.
    """
    return _near_one(ratio, plan) and ratio.low <= 1 <= ratio.high


def _near_one(ratio: Ratio, plan: TimingPlan) -> bool:
    """Whether a ratio is off 1 by more than half the resolution, and by less than the protocol's band."""
    apart = max(ratio.estimate, 1 / ratio.estimate) - 1
    return plan.resolution / 2 < apart < plan.recheck_band
