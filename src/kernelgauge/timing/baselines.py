"""How much faster than PyTorch at its best: an evaluation seen against stored baselines. Pure functions.

An evaluation times eager (E) and its candidate (C) in turn, a baseline eager (E') and a mode of `torch.compile` (B).
The speedup over that mode is B / C = (E / C) / (E' / B), if eager was as fast both times. Within each ratio drift of
the machine cancels, since its calls are interleaved; that eager has not changed between them is checked (`moved`).
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Sequence

from scipy.special import ndtri, stdtrit

from kernelgauge.schema import Baseline, BaselineSpeedup, Evaluation, Measured, Mode, Timing, conditions, tells
from kernelgauge.timing.ratio import Ratio, standard_error_of_median

TOLERANCE = 0.05
"""How far eager's time may lie beyond the intervals of both measurements before a baseline counts as out of date."""


def typical_interval(samples: Sequence[float], rounds: Sequence[int], confidence: float) -> tuple[float, float]:
    """Confidence interval of a typical (median) time, as factors below and above it.

    Over the medians of several rounds, each in processes of its own, Student's t on their logarithms; within a single
    one the standard error of its median.

    Args:
        samples: times of any unit, above zero.
        rounds: samples of each round, in order; empty for a single one.
    """
    if len(rounds) > 1:
        ends = [sum(rounds[: place + 1]) for place in range(len(rounds))]
        pieces = [samples[end - size : end] for end, size in zip(ends, rounds, strict=True)]
        logs = [math.log(statistics.median(piece)) for piece in pieces]
        quantile = float(stdtrit(len(logs) - 1, (1 + confidence) / 2))
        half = quantile * statistics.stdev(logs) / math.sqrt(len(logs))
    else:
        quantile = float(ndtri((1 + confidence) / 2))
        half = quantile * standard_error_of_median(samples) / statistics.median(samples)
    return math.exp(-half), math.exp(half)


def eager_interval(timing: Timing) -> tuple[float, float]:
    """Confidence interval of eager's typical time, in ms."""
    below, above = typical_interval(timing.reference_samples_ms, timing.rounds, timing.confidence)
    return timing.reference_ms * below, timing.reference_ms * above


def measured(timing: Timing) -> Measured:
    """What a baseline keeps of a timing."""
    return Measured(
        milliseconds=timing.candidate_ms,
        speedup=timing.speedup,
        interval=timing.interval,
        confidence=timing.confidence,
        eager_ms=timing.reference_ms,
        eager_interval_ms=eager_interval(timing),
    )


def current(baselines: Iterable[Baseline], under: str) -> dict[Mode, Baseline]:
    """The newest baseline of each mode measured under these conditions (`schema.conditions`)."""
    fitting = sorted((each for each in baselines if each.conditions == under), key=lambda each: each.created)
    return {each.mode: each for each in fitting}


def strongest(modes: Iterable[Baseline]) -> Mode:
    """The fastest mode that passed; eager, unless the whole interval of another lies above eager's speed.

    Of several such the one with the highest estimate. The best of several noisy estimates is a little too high, which
    makes the baseline look stronger than it is, never weaker.
    """
    faster = [
        each
        for each in modes
        if each.mode != "eager" and each.measured and tells(each.measured.interval) and each.measured.interval[0] > 1
    ]
    best = max(faster, key=lambda each: each.measured.speedup if each.measured else 0.0, default=None)
    return best.mode if best else "eager"


def quotient(ratio: Ratio, divisor: Ratio) -> Ratio:
    """One ratio over another, measured independently of it, with the interval of their quotient.

    The logarithm of a quotient is a difference; errors of independent estimates add in quadrature, and so do the half
    widths of intervals of equal confidence: below, the lower half of the one and the upper half of the other.
    """
    estimate = ratio.estimate / divisor.estimate
    below = math.hypot(math.log(ratio.estimate / ratio.low), math.log(divisor.high / divisor.estimate))
    above = math.hypot(math.log(ratio.high / ratio.estimate), math.log(divisor.estimate / divisor.low))
    return Ratio(estimate, estimate * math.exp(-below), estimate * math.exp(above))


def moved(eager: tuple[float, float], before: Measured) -> bool:
    """Whether eager takes another time than when the baseline was measured, beyond both intervals and the tolerance.

    Args:
        eager: interval of eager's time now, in ms.
    """
    low, high = before.eager_interval_ms
    return eager[0] > high * (1 + TOLERANCE) or eager[1] * (1 + TOLERANCE) < low


def baseline_speedups(timing: Timing, modes: dict[Mode, Baseline]) -> tuple[BaselineSpeedup, ...]:
    """The speedup of a candidate over eager and over every mode that passed; `modes` as `current` gives them."""
    live = Ratio(timing.speedup, *timing.interval)
    best = strongest(modes.values())
    found = [
        BaselineSpeedup(
            mode="eager", strongest=best == "eager", speedup=live.estimate, interval=timing.interval, measured=None
        )
    ]
    for mode, baseline in modes.items():
        if mode != "eager" and (known := baseline.measured):
            ratio = quotient(live, Ratio(known.speedup, *known.interval))
            found.append(
                BaselineSpeedup(
                    mode=mode,
                    strongest=mode == best,
                    speedup=ratio.estimate,
                    interval=(ratio.low, ratio.high),
                    measured=baseline.created,
                )
            )
    return tuple(found)


def compared(record: Evaluation, baselines: Iterable[Baseline]) -> Evaluation:
    """The record with its speedups over the stored baselines; with a note instead where one is out of date.

    Unchanged if it has no time or no mode beside eager was tried under its conditions: eager alone is no strongest.
    """
    modes = current(baselines, conditions(record))
    if record.timing is None or not modes.keys() - {"eager"}:
        return record
    now = eager_interval(record.timing)
    for mode, baseline in modes.items():
        if mode != "eager" and baseline.measured and moved(now, baseline.measured):
            note = (
                f"no speedup over the strongest baseline: eager takes {record.timing.reference_ms:.3g} ms, and took "
                f"{baseline.measured.eager_ms:.3g} ms when {mode} was measured on {baseline.created:%Y-%m-%d}; "
                "`kernelgauge baseline --recheck 5` measures some again"
            )
            return record.model_copy(update={"notes": (*record.notes, note)})
    return record.model_copy(update={"baseline_speedups": baseline_speedups(record.timing, modes)})
