"""How errors evolve over the turns of a refinement: what fails at which turn, and what the next turn makes of it."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from statistics import median

from kernelgauge.report.figures.study.failures import CLASSES, class_of
from kernelgauge.schema import AttemptRecord, Record

REFUSED_UNSEEN = "refused"
"""The class of an answer that was refused for its text, before any evaluation."""


class Turn(Record):
    """The judged answers of one turn. The first turn, 0, goes on from nothing, or from a candidate that was given."""

    number: int
    answers: int
    classes: dict[str, int]
    """Answers by class of failure, as in `failures.CLASSES`."""
    faster: int
    """Of those that passed, by the whole interval."""
    speedup: float | None
    """Median of those that passed and were timed."""


class Change(Record):
    """What became of the answers of one class at the next turn."""

    before: str
    answers: int
    """That somebody went on from."""
    after: dict[str, int]
    """Their successors by class."""

    @property
    def passed(self) -> float:
        """Share of the successors that pass."""
        return self.after.get("passed", 0) / self.answers


class Evolution(Record):
    """All turns of all samples."""

    samples: int
    turns: tuple[Turn, ...]
    changes: tuple[Change, ...]
    """By class before, in the order of the classes."""
    same_failure: int
    """Answers that failed by the same outcome as the one they went on from."""


Sample = tuple[int, str, int]
"""A run, a problem, a number of a sample."""


def evolution(attempts: Iterable[tuple[int, AttemptRecord]]) -> Evolution | None:
    """The evolution over all attempts that go on from one another; None where nobody went on from anything.

    Args:
        attempts: each with a number of its run. Answers that hold ideas, or that nobody judged, are passed over:
            what follows them goes on from what they went on from.
    """
    samples: dict[Sample, dict[int, AttemptRecord]] = defaultdict(dict)
    for run, record in attempts:
        samples[run, record.problem, record.sample][record.number] = record
    turns: dict[int, list[AttemptRecord]] = defaultdict(list)
    followed: dict[str, Counter[str]] = defaultdict(Counter)
    same = 0
    for history in samples.values():
        for record in history.values():
            if (after := _class(record)) is None:
                continue
            turns[_turn(record, history)].append(record)
            before = _before(record, history)
            if before is not None and (old := _class(before)) is not None:
                followed[old][after] += 1
                same += after != "passed" and _outcome(before) == _outcome(record)
    if not followed:
        return None
    return Evolution(
        samples=len(samples),
        turns=tuple(_summary(number, turns[number]) for number in sorted(turns)),
        changes=tuple(
            Change(before=name, answers=followed[name].total(), after=_ordered(followed[name]))
            for name in CLASSES
            if name in followed
        ),
        same_failure=same,
    )


def _summary(number: int, records: Sequence[AttemptRecord]) -> Turn:
    judged = [record.attempt.evaluation for record in records if record.attempt.evaluation]
    speeds = [e.speedup for e in judged if e.speedup is not None]
    return Turn(
        number=number,
        answers=len(records),
        classes=_ordered(Counter(name for record in records if (name := _class(record)))),
        faster=sum(e.standing == "faster" for e in judged),
        speedup=median(speeds) if speeds else None,
    )


def _ordered(counts: Mapping[str, int]) -> dict[str, int]:
    return {name: counts[name] for name in CLASSES if counts.get(name)}


def _class(record: AttemptRecord) -> str | None:
    """The class of an answer; None if nobody judged it."""
    attempt = record.attempt
    if attempt.evaluation is not None:
        return class_of(attempt.evaluation)
    return REFUSED_UNSEEN if attempt.refusal else None


def _outcome(record: AttemptRecord) -> str:
    evaluation = record.attempt.evaluation
    return evaluation.outcome.value if evaluation else REFUSED_UNSEEN


def _before(record: AttemptRecord, history: Mapping[int, AttemptRecord]) -> AttemptRecord | None:
    """The judged answer that one goes on from; None if there is none."""
    seen: set[int] = set()
    here = record
    while (number := here.attempt.step.after) is not None and number in history and number not in seen:
        seen.add(number)
        here = history[number]
        if _class(here) is not None:
            return here
    return None


def _turn(record: AttemptRecord, history: Mapping[int, AttemptRecord]) -> int:
    """How many judged answers stand before one, those aside that were given and not asked for."""
    count, here = 0, record
    while (before := _before(here, history)) is not None and count <= len(history):
        count += not before.attempt.given
        here = before
    return count
