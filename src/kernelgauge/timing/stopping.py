"""When to stop sampling, and when to begin again in fresh processes."""

from __future__ import annotations

from typing import Literal

from kernelgauge.config import TimingRules
from kernelgauge.timing.ratio import Ratio

Why = Literal["precise", "budget", "fixed"]


def finished(
    rules: TimingRules, samples: int, seconds: float, ratio: Ratio | None, resolution: float = 0.0, share: float = 1.0
) -> Why | None:
    """Why sampling may end after so many pairs and seconds; None if it should go on.

    `precise`: the interval is narrow enough; `fixed`: the protocol's fixed count is reached; `budget`: time or the
    largest number of samples is spent. Never before `min_samples`, unless twice the time budget is gone.

    Args:
        resolution: half width below which the device cannot tell ratios apart.
        share: how much of samples and budget may be spent by now, where they are shared out over several rounds.
    """
    if samples < rules.min_samples * share:
        return "budget" if samples >= 2 and seconds > 2 * rules.budget_seconds * share else None
    if rules.half_width > 0 and ratio is not None and ratio.half_width <= max(rules.half_width, resolution) + 1e-9:
        return "precise"
    if samples >= rules.max_samples * share:
        return "fixed" if rules.half_width == 0 else "budget"
    return "budget" if seconds > rules.budget_seconds * share else None


def in_doubt(ratio: Ratio, doubt: float) -> bool:
    """Whether a ratio tells a difference, but one so small that the processes it was measured in may explain it.

    Args:
        ratio: the ratio with an interval that holds all we know.
        doubt: how far from 1 a ratio is beyond doubt, as a share.
    """
    tie = ratio.low <= 1 <= ratio.high
    return not tie and max(ratio.estimate, 1 / ratio.estimate) < 1 + doubt
