"""What the evaluation itself cost: kernels an hour, and where the time went."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from math import fsum
from statistics import median, quantiles

from kernelgauge.schema import Evaluation, Judgement, Record


class Stage(Record):
    """One part of an evaluation, over all evaluations that came to it. Seconds."""

    name: str
    candidates: int
    total: float
    share: float
    """Of the time of all stages."""
    median: float
    p95: float
    """95 of 100 candidates took no longer."""


class EvaluationCost(Record):
    """The evaluator's own time. Builds that overlap with judging count in full in `seconds`."""

    candidates: int
    """Candidates evaluated, each as often as it was: attempts, and records that a later one replaced, included."""
    attempts: int
    """Those of them that were attempts on the way to an answer, and no answers themselves."""
    seconds: float
    """Of all stages of all candidates."""
    per_hour: float
    """Candidates in an hour of that time."""
    clock_seconds: float | None
    """From the first record to the last, waiting for answers and pauses included; None for fewer than two."""
    clock_per_hour: float | None
    at_once: float | None
    """Seconds of stages in a second of that: how many were at work on average, on several GPUs, or building."""
    stages: tuple[Stage, ...]
    """The longest first."""


def evaluation_cost(evaluations: Sequence[Evaluation], tried: Sequence[Judgement] = ()) -> EvaluationCost | None:
    """The cost of these evaluations, each judgement once; None if none of them says how long it took.

    Args:
        tried: the judgements of attempts; of those, some may have become an answer's.
    """
    # Samples with the same text share one judgement, which is copied with its moment.
    answers = {(e.candidate_digest, e.created): e for e in evaluations if sum(e.seconds.values()) > 0}
    attempts = {(e.candidate_digest, e.created): e for e in tried if sum(e.seconds.values()) > 0}
    judged: dict[tuple[str, datetime], Evaluation | Judgement] = {**attempts, **answers}
    timed = list(judged.values())
    if not timed:
        return None
    total = fsum(second for e in timed for second in e.seconds.values())  # whatever order records come in
    moments = [e.created for e in timed]
    clock = (max(moments) - min(moments)).total_seconds()
    names = dict.fromkeys(name for e in timed for name in e.seconds)
    stages = [_stage(name, [e.seconds[name] for e in timed if name in e.seconds], total) for name in names]
    return EvaluationCost(
        candidates=len(timed),
        attempts=len(attempts.keys() - answers.keys()),
        seconds=total,
        per_hour=len(timed) / total * 3600,
        clock_seconds=clock or None,
        # One fewer than there are records: the clock begins when the first one was finished.
        clock_per_hour=(len(timed) - 1) / clock * 3600 if clock else None,
        at_once=total / clock if clock else None,
        stages=tuple(sorted(stages, key=lambda stage: -stage.total)),
    )


def _stage(name: str, seconds: Sequence[float], total: float) -> Stage:
    return Stage(
        name=name,
        candidates=len(seconds),
        total=fsum(seconds),
        share=fsum(seconds) / total,
        median=median(seconds),
        p95=quantiles(seconds, n=20, method="inclusive")[-1] if len(seconds) > 1 else seconds[0],
    )


def duration(seconds: float) -> str:
    """For a reader: `48 s`, `12 min`, `3 h 20 min`."""
    if seconds < 100:
        return f"{seconds:.3g} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 100 else f"{minutes // 60:,} h {minutes % 60} min"


def together(found: EvaluationCost) -> str:
    """Why the clock saw more than one after the other would give; empty where it did not."""
    return f", {found.at_once:.1f} at once on average" if found.at_once and found.at_once >= 1.05 else ""


def in_words(found: EvaluationCost) -> str:
    """One line for a reader."""
    each = found.seconds / found.candidates
    stages = ", ".join(f"{stage.name} {100 * stage.share:.0f} %" for stage in found.stages if stage.share >= 0.005)
    attempts = f", {found.attempts:,} of them attempts," if found.attempts else ""
    text = f"evaluator: {found.candidates:,} candidate{'s' * (found.candidates != 1)}{attempts} in "
    text += f"{duration(found.seconds)} of its own time, {each:.3g} s each, {found.per_hour:,.0f} an hour ({stages})"
    if found.clock_per_hour:
        text += f"; {found.clock_per_hour:,.0f} an hour by the clock{together(found)}"
    return text
