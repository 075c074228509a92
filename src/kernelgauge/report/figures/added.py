"""What searches added to the candidates that they were given to begin with."""

from __future__ import annotations

import math
from collections.abc import Sequence

from kernelgauge.report.figures.estimators import from_to, geometric_mean
from kernelgauge.schema import AttemptRecord, Evaluation, Outcome, Record

Interval = tuple[float, float]


class Gain(Record):
    """One answer beside the candidate that its search began with. Both were judged for themselves."""

    problem: str
    sample: int
    given: str
    """Whose candidate that was."""
    start_outcome: Outcome
    start_speedup: float | None
    start_interval: Interval | None
    outcome: Outcome
    speedup: float | None
    interval: Interval | None
    kept: bool
    """Whether the answer is that very candidate: the search found nothing better."""
    gain: float | None
    """Speedup of the answer over that of the start; 1 where it was kept, None where one of them has none."""
    gain_interval: Interval | None
    unclear: bool
    """Whether one of both speedups has an interval that is too wide to tell."""


class Added(Record):
    """What a search made of what it was given, over all answers."""

    start: str
    """Whose candidates it began with."""
    answers: int
    begun_with_nothing: int
    """Answers without a candidate to begin with."""
    kept: int
    faster: int
    """By the whole interval of the gain."""
    slower: int
    mended: int
    """Right answers where what was given was not."""
    gain: float | None
    """Geometric mean of the gains, but for those of a speedup whose interval is too wide to tell."""
    gain_interval: Interval | None
    """95 % interval of that over answers; None for fewer than two."""
    gains: tuple[Gain, ...]


def added(start: str, given: Sequence[AttemptRecord], answers: Sequence[Evaluation]) -> Added | None:
    """The gains of these answers, the last of each problem and sample; None where no search was given anything.

    Args:
        start: whose candidates the run says that its searches began with.
        given: the attempts that were given.
    """
    if not start:
        return None
    began = {(record.problem, record.sample): record for record in given}
    pairs = [(began[at], each) for each in answers if (at := (each.problem, each.sample)) in began]
    gains = tuple(_gain(*pair) for pair in pairs)
    mean = geometric_mean([each.gain for each in gains if each.gain is not None and (each.kept or not each.unclear)])
    return Added(
        start=start,
        answers=len(answers),
        begun_with_nothing=len(answers) - len(gains),
        kept=sum(each.kept for each in gains),
        faster=sum(each.gain_interval is not None and each.gain_interval[0] > 1 for each in gains),
        slower=sum(each.gain_interval is not None and each.gain_interval[1] < 1 for each in gains),
        mended=sum(each.outcome is Outcome.PASSED and each.start_outcome is not Outcome.PASSED for each in gains),
        gain=mean[0] if mean else None,
        gain_interval=mean[1] if mean else None,
        gains=gains,
    )


def in_words(found: Added) -> str:
    """One line for a reader."""
    counts = [f"{found.kept} kept as it was", f"{found.faster} faster", f"{found.slower} slower"]
    if found.mended:
        counts.append(f"{found.mended} right where it was not")
    if found.begun_with_nothing:
        counts.append(f"{found.begun_with_nothing} begun with nothing")
    text = f"begun with {found.start}: of {found.answers} answers {', '.join(counts)}"
    if found.gain is not None:
        text += f"; {found.gain:.2f} times its speed"
        text += f" ({from_to(found.gain_interval)})" if found.gain_interval else ""
    return text


def _gain(record: AttemptRecord, answer: Evaluation) -> Gain:
    start = record.attempt.evaluation
    assert start is not None, "what was given is kept with its verdict"
    kept = start.candidate_digest == answer.candidate_digest
    ratio = (1.0, (1.0, 1.0)) if kept else _ratio(start, answer)
    return Gain(
        problem=answer.problem,
        sample=answer.sample,
        given=record.attempt.given,
        start_outcome=start.outcome,
        start_speedup=start.speedup,
        start_interval=start.speedup_interval,
        outcome=answer.outcome,
        speedup=answer.speedup,
        interval=answer.speedup_interval,
        kept=kept,
        gain=ratio[0] if ratio else None,
        gain_interval=ratio[1] if ratio else None,
        unclear="unclear" in (start.standing, answer.standing),
    )


def _ratio(start: Evaluation, answer: Evaluation) -> tuple[float, Interval] | None:
    """Speedup over speedup, with the interval that follows from both of theirs, which are independent.

    Zou & Donner (2008), "Construction of confidence limits about effect measures: a general approach", on logarithms.
    """
    if start.timing is None or answer.timing is None:
        return None
    old, (old_low, old_high) = math.log(start.timing.speedup), map(math.log, start.timing.interval)
    new, (new_low, new_high) = math.log(answer.timing.speedup), map(math.log, answer.timing.interval)
    gain = new - old
    low = gain - math.hypot(new - new_low, old_high - old)
    high = gain + math.hypot(new_high - new, old - old_low)
    return math.exp(gain), (math.exp(low), math.exp(high))
